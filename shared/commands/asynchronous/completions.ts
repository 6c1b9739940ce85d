import type { Outcome } from "../../domain/command.ts";
import { ANSWER_BYTES, COMPLETIONS_PER_ANSWER } from "../../domain/limits.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { readCompletion } from "../../records/command.ts";
import { completionKey, completionPrefix, sessionKey } from "../../records/keys.ts";
import { ifInForce } from "../../records/remembered.ts";
import type { Context } from "../context.ts";
import { looks } from "../looks.ts";
import { unpacked } from "../packed.ts";
import { loadSession } from "../sessions/liveness.ts";
import { firstOpen } from "./open-commands.ts";

export interface Completion {
  readonly commandId: number;
  readonly outcome: Outcome;
}

export interface Completions {
  readonly completions: readonly Completion[];
  /** The highest id with nothing open at or below it; in a cut answer not above its last. */
  readonly completedThrough: number;
}

const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 500;

/**
 * What the session's commands after `after` have come to, by id. With nothing to tell it waits until there is, up to
 * `waitSeconds`. `bytesOf` says how long a completion is in the answer.
 */
export const listCompletions = async (
  context: Context,
  session: string,
  after: number,
  waitSeconds: number,
  bytesOf: (completion: Completion) => number,
): Promise<Completions | Refusal> => {
  const untilMs = Math.min(context.now() + waitSeconds * 1000, context.stopAtMs);
  let found: Completions | undefined;
  for await (const _ of looks(context, untilMs, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)) {
    found = await look(context, session, after, bytesOf);
    if (found === undefined || found.completions.length > 0 || found.completedThrough > after) break;
  }
  return found ?? refuse("not-found", `session ${session} does not exist`);
};

const look = async (
  context: Context,
  name: string,
  after: number,
  bytesOf: (completion: Completion) => number,
): Promise<Completions | undefined> => {
  const session = await loadSession(context, name);
  if (session === undefined) return undefined;
  // In this order: what completes after the first look is told, and counts next time.
  const open = session.commands > session.completedThrough ? await firstOpen(context, name) : undefined;
  const through = Math.min(session.commands, open === undefined ? session.commands : open - 1);
  const { completions, cutAt } = await read(context, name, after, bytesOf);
  return { completions, completedThrough: cutAt === undefined ? through : Math.min(through, cutAt) };
};

/** `cutAt`: the last command that it looked at, when there may be more behind it. */
const read = async (
  context: Context,
  session: string,
  after: number,
  bytesOf: (completion: Completion) => number,
): Promise<{ readonly completions: readonly Completion[]; readonly cutAt?: number }> => {
  const completions: Completion[] = [];
  let bytes = 0;
  let looked = after;
  let from: string | undefined = completionKey(session, after).sk;
  do {
    const page = await context.store.query({ pk: sessionKey(session).pk, beginsWith: completionPrefix, after: from });
    for (const item of page.items) {
      const inForce = ifInForce(item, context.now());
      const found = inForce && readCompletion(inForce);
      if (found !== undefined && !found.isForOneCall) {
        const completion = { commandId: found.id, outcome: unpacked(found.outcome) as Outcome };
        bytes += bytesOf(completion);
        const isFull = completions.length === COMPLETIONS_PER_ANSWER || bytes > ANSWER_BYTES;
        if (isFull && completions.length > 0) return { completions, cutAt: looked };
        completions.push(completion);
      }
      looked = found?.id ?? looked;
    }
    from = page.next;
    // There may be many that are told to others.
    if (from !== undefined && context.now() >= context.stopAtMs) return { completions, cutAt: looked };
  } while (from !== undefined);
  return { completions };
};
