import { SESSION_TIMEOUT_SECONDS_DEFAULT } from "../../domain/limits.ts";
import { isReserved } from "../../domain/name.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { attach, mayHaveOpenCommands, type Session } from "../../domain/session.ts";
import { writeSession } from "../../records/session.ts";
import { Unavailable } from "../../store/port.ts";
import { firstOpen } from "../asynchronous/open-commands.ts";
import { wake } from "../asynchronous/wake.ts";
import type { Context } from "../context.ts";
import { recoverSession } from "../recovery/recover-session.ts";
import type { Recovery } from "../recovery/report.ts";
import { loadSession } from "./liveness.ts";

/** Callers that attach one name at the same time: each that loses the race reads again. */
const ROUNDS = 20;

export interface Attached {
  readonly session: Session;
  /** The name had a session before: its older epochs are fenced. */
  readonly isResumed: boolean;
  readonly recovery: Recovery;
}

/** Attaches or resumes a session, then finishes and undoes what its older epochs left. */
export const attachSession = async (
  context: Context,
  name: string,
  timeoutSeconds = SESSION_TIMEOUT_SECONDS_DEFAULT,
): Promise<Attached | Refusal> => {
  if (isReserved(name)) return refuse("not-allowed", "names beginning with amq. are reserved");
  for (let round = 0; round < ROUNDS; round++) {
    const before = await loadSession(context, name);
    const session = attach(before, name, timeoutSeconds, context.now());
    const commit = await context.store.commit([writeSession(before, session)]);
    if (commit.done) {
      const open = mayHaveOpenCommands(session) ? await firstOpen(context, name) : undefined;
      if (open !== undefined) await wake(context, name, open);
      return { session, isResumed: before !== undefined, recovery: await recoverSession(context, name) };
    }
  }
  throw new Unavailable(`session ${name} is attached by others all the time`);
};
