import { type Refusal, refuse } from "../../domain/refusal.ts";
import { close, type Session } from "../../domain/session.ts";
import { readBranch } from "../../records/branch.ts";
import { writeSession } from "../../records/session.ts";
import type { Item } from "../../records/write.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { pickBranches } from "../dtx/branch-items.ts";
import { eachOf } from "../payload.ts";
import { readable } from "../recovery/readable.ts";
import { recoverItem } from "../recovery/recover-item.ts";
import { loadSession } from "./liveness.ts";

/** Keep-alives may come in between: each that does makes the detach read again. */
const ROUNDS = 20;

/**
 * Detaches a session: first the fence, after which nothing of its epoch is accepted, then its open associations, whose
 * branches become rollback-only. What a crash leaves of that is done by whoever meets those branches. `epoch`: only when
 * this is the current one.
 */
export const detachSession = async (
  context: Context,
  name: string,
  epoch: number | undefined,
): Promise<"detached" | Refusal> => {
  const fenced = await fenceOff(context, name, epoch);
  if (fenced !== undefined) return fenced;
  const associated = await pickBranches(context, (item) => (isAssociated(item, name) ? item : undefined));
  await eachOf(associated, async (item) => {
    await recoverItem(context, item);
  });
  return "detached";
};

const fenceOff = async (context: Context, name: string, epoch: number | undefined): Promise<Refusal | undefined> => {
  for (let round = 0; round < ROUNDS; round++) {
    const session = await loadSession(context, name);
    const refusal = refusalFor(session, name, epoch);
    if (refusal !== undefined || session === undefined) return refusal;
    if (session.state !== "attached") return undefined;
    const commit = await context.store.commit([writeSession(session, close(session, context.now()))]);
    if (commit.done) return undefined;
  }
  throw new Unavailable(`session ${name} is changed by others all the time`);
};

const refusalFor = (session: Session | undefined, name: string, epoch: number | undefined): Refusal | undefined => {
  if (session === undefined) return refuse("not-found", `session ${name} does not exist`);
  if (epoch === undefined || epoch === session.epoch) return undefined;
  return refuse("session-fenced", `epoch ${epoch} is not the current one of session ${name}`);
};

const isAssociated = (item: Item, session: string): boolean => {
  const branch = readable(() => readBranch(item));
  return branch?.associations.some((a) => a.name === session) === true;
};
