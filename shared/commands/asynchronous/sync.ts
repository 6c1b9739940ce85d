import { type Refusal, refuse } from "../../domain/refusal.ts";
import { fence } from "../../domain/session.ts";
import { completionPrefix, sessionKey } from "../../records/keys.ts";
import type { Context } from "../context.ts";
import { looks } from "../looks.ts";
import { loadSession } from "../sessions/liveness.ts";
import { firstOpen, openCommands } from "./open-commands.ts";
import { wake } from "./wake.ts";

export interface Synced {
  /** What the session had sent when the call began: as far as `open` says otherwise, it is complete. */
  readonly through: number;
  /** The lowest of those that are still open. */
  readonly open: readonly number[];
  readonly hasMore: boolean;
}

const LISTED = 100;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 500;

/** Waits until everything that the session has sent before is complete, up to `waitSeconds`. */
export const sync = async (
  context: Context,
  name: string,
  epoch: number | undefined,
  waitSeconds: number,
): Promise<Synced | Refusal> => {
  const session = await loadSession(context, name);
  if (session === undefined) return refuse("not-found", `session ${name} does not exist`);
  const fenced = epoch === undefined ? undefined : fence(session, { name, epoch }, context.now());
  if (fenced !== undefined) return fenced;
  const untilMs = Math.min(context.now() + waitSeconds * 1000, context.stopAtMs);
  const through = session.commands;
  let isWoken = false;
  for await (const _ of looks(context, untilMs, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)) {
    const first = await firstOpen(context, name);
    if (first === undefined || first > through) {
      if (context.isReplicated === true) await readCompletions(context, name);
      return { through, open: [], hasMore: false };
    }
    // Its wake may have been lost.
    if (!isWoken) await wake(context, name, first);
    isWoken = true;
  }
  return { through, ...(await listOpen(context, name, through)) };
};

/** What is complete here is told as complete when the replicas show it, too. */
const readCompletions = async (context: Context, session: string): Promise<void> => {
  let after: string | undefined;
  do {
    const { pk } = sessionKey(session);
    const page = await context.store.query({
      pk,
      beginsWith: completionPrefix,
      ...(after !== undefined && { after }),
    });
    after = page.next;
  } while (after !== undefined);
};

const listOpen = async (
  context: Context,
  session: string,
  through: number,
): Promise<Pick<Synced, "open" | "hasMore">> => {
  for await (const page of openCommands(context, session, 0, LISTED + 1)) {
    const open = page.map(({ id }) => id).filter((id) => id <= through);
    return { open: open.slice(0, LISTED), hasMore: open.length > LISTED };
  }
  return { open: [], hasMore: false };
};
