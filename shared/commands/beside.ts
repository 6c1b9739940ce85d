import type { Result } from "../domain/command.ts";
import type { Write } from "../records/write.ts";

/** What is left to do of an enqueue once it is decided. */
export interface Left {
  /** The branch that applies it, where it is too large for one commit. */
  readonly branch?: string;
  /** Some of it is handed to the command queue. */
  readonly isHandedOn?: boolean;
}

/** The writes that make a verb's effect known: they stand in the commit of the effect, so that it is done once. */
export type Beside = (result: Result, left: Left) => readonly Write[];

/** Nothing, unless the verb runs for something that must know. */
export const besideOf = (context: { readonly beside?: Beside }, result: Result, left: Left = {}): readonly Write[] =>
  context.beside?.(result, left) ?? [];
