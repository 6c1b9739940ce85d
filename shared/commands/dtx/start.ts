import { randomBytes } from "node:crypto";
import { open } from "../../domain/branch.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { fence, type SessionRef } from "../../domain/session.ts";
import { join, resume, startFlags, startKnown, unknownBranch } from "../../domain/verb.ts";
import type { Xid } from "../../domain/xid.ts";
import { putNewBranch } from "../../records/branch.ts";
import { checkSession } from "../../records/session.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { fenceCall, loadSession } from "../sessions/liveness.ts";
import { loadBranch } from "./load.ts";
import { perform, type VerbAnswer } from "./perform.ts";

export interface StartFlags {
  readonly join: boolean;
  readonly resume: boolean;
  readonly timeoutSeconds: number;
}

/** How often a start begins anew because the branch came or went meanwhile. */
const ROUNDS = 10;

/** Associates a session with a branch, new or known. The session is checked in the same commit: no start lands after its fence. */
export const startBranch = async (
  context: Context,
  xid: Xid,
  by: SessionRef | undefined,
  flags: StartFlags,
): Promise<VerbAnswer | Refusal> => {
  if (by === undefined) return refuse("command-invalid", "a start needs a session");
  const clash = startFlags(flags.join, flags.resume);
  if (clash !== undefined) return (await fenceCall(context, by)) ?? clash;
  if (!flags.join && !flags.resume) return startNew(context, xid, by, flags.timeoutSeconds);
  return perform(context, {
    xid,
    session: by,
    decide: (branch) => (flags.join ? join(branch, by) : resume(branch, by)),
    onUnknown: () => unknownBranch(xid),
    beside: [checkSession(by, context.now())],
  });
};

const startNew = async (
  context: Context,
  xid: Xid,
  by: SessionRef,
  timeoutSeconds: number,
): Promise<VerbAnswer | Refusal> => {
  const incarnation = randomBytes(6).toString("base64url");
  for (let round = 0; round < ROUNDS; round++) {
    const nowMs = context.now();
    const putting = putNewBranch(open(xid, incarnation, by, timeoutSeconds, nowMs));
    const commit = await context.store.commit([putting, checkSession(by, nowMs)]);
    if (commit.done) return { xa: "XA_OK", state: "active" };
    const fenced = fence(await loadSession(context, by.name), by, context.now());
    if (fenced !== undefined) return fenced;
    const branch = await loadBranch(context, xid);
    if (branch !== undefined) return startKnown(branch);
  }
  throw new Unavailable(`branch ${xid} comes and goes`);
};
