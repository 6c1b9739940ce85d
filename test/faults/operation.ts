/** An operation of the API in a situation: what the crash matrix is made of. */
import type { Look } from "../interleavings/look.ts";
import type { Stage } from "../interleavings/scenario.ts";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import type { InProcess } from "../support/in-process.ts";
import type { StoredRecord } from "./records.ts";

export interface Operation {
  /** As `cdk/routes.ts` has it: `<method> <path>`; or the handler of a schedule. */
  readonly route: string;
  /** What tells it from the other operations of its route. */
  readonly how: string;
  /** Made by a stage whose only process this is. */
  readonly setUp: (stage: Stage, process: InProcess) => Promise<Scene>;
  /** Each message is decided on its own: some may have been, when the process stops. */
  readonly isByMessage?: true;
  /** An ordinary read answers it: it may tell what was true a moment ago. Why that is so. */
  readonly mayBeLate?: string;
  readonly isLarge?: true;
}

export interface Scene {
  readonly look: Look;
  /** The one request, made by a client without context; the same one each time. Without it the schedule runs. */
  readonly send?: Send;
  /** What else everyone is told, the same whenever the same is there. */
  readonly tell?: Send;
}

export type Send = (client: Client) => Promise<Answer<unknown>>;

/** A scene as it stands in the table, to be shown as often as it is wanted. */
export interface Recorded {
  readonly operation: Operation;
  readonly scene: Scene;
  /** Every state of the table from an empty one to the scene. */
  readonly states: readonly (readonly StoredRecord[])[];
  readonly records: readonly StoredRecord[];
  /** When it was made, by the clock of its process. */
  readonly nowMs: number;
}

export const nameOf = ({ route, how }: Operation): string => `${route} ${how}`;
