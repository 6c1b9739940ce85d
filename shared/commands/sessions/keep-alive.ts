import type { Refusal } from "../../domain/refusal.ts";
import { fence, renew, type Session, type SessionRef } from "../../domain/session.ts";
import { writeSession } from "../../records/session.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { loadSession } from "./liveness.ts";

/** Keep-alives of one session at the same time: each that loses the race reads again. */
const ROUNDS = 20;

/** Renews the expiry of a session that is alive at this epoch; without `timeoutSeconds` by as much as before. */
export const keepAlive = async (
  context: Context,
  ref: SessionRef,
  timeoutSeconds: number | undefined,
): Promise<Session | Refusal> => {
  for (let round = 0; round < ROUNDS; round++) {
    const before = await loadSession(context, ref.name);
    const fenced = fence(before, ref, context.now());
    if (fenced !== undefined) return fenced;
    if (before === undefined) throw new Error("the fence lets no unknown session through");
    const after = renew(before, timeoutSeconds ?? before.timeoutSeconds, context.now());
    const commit = await context.store.commit([writeSession(before, after)]);
    if (commit.done) return after;
  }
  throw new Unavailable(`session ${ref.name} is changed by others all the time`);
};
