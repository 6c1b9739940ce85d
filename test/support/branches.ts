import { accept } from "../../shared/commands/deliveries/accept.ts";
import { endBranch } from "../../shared/commands/dtx/end.ts";
import { prepareBranch } from "../../shared/commands/dtx/prepare.ts";
import { startBranch } from "../../shared/commands/dtx/start.ts";
import { enqueue } from "../../shared/commands/enqueue.ts";
import { isDeferred } from "../../shared/commands/idempotency.ts";
import { attachSession } from "../../shared/commands/sessions/attach.ts";
import type { Delivery } from "../../shared/domain/delivery.ts";
import { isRefusal, type Refusal } from "../../shared/domain/refusal.ts";
import type { Session } from "../../shared/domain/session.ts";
import { parseXid, type Xid } from "../../shared/domain/xid.ts";
import { freshName, messageOf } from "./messages.ts";
import type { TestCall } from "./table.ts";

/** What was answered, unless it was refused. */
export const answered = <T>(answer: T | Refusal): T => {
  if (isRefusal(answer)) throw new Error(`${answer.refusal}: ${answer.detail}`);
  return answer;
};

let xids = 0;

/** An xid that no other test of the file uses. */
export const freshXid = (): Xid => {
  const xid = parseXid(`1.${(++xids).toString(16).padStart(8, "0")}.`);
  if (xid === undefined) throw new Error("the tests make xids");
  return xid;
};

export const attachedSession = async (call: TestCall, timeoutSeconds = 300): Promise<Session> =>
  answered(await attachSession(call, freshName("session"), timeoutSeconds)).session;

export const started = async (call: TestCall, session: Session, timeoutSeconds = 60): Promise<Xid> => {
  const xid = freshXid();
  answered(await startBranch(call, xid, session, { join: false, resume: false, timeoutSeconds }));
  return xid;
};

export const ended = async (call: TestCall, session: Session, xid: Xid): Promise<void> => {
  answered(await endBranch(call, xid, session, { suspend: false, fail: false }));
};

export const prepared = async (call: TestCall, session: Session, xid: Xid): Promise<void> => {
  await ended(call, session, xid);
  if (answered(await prepareBranch(call, xid, session)).xa !== "XA_OK") throw new Error("the branch was not prepared");
};

/** Enqueues bodies in the branch and answers their message ids. */
export const enlisted = async (
  call: TestCall,
  session: Session,
  xid: Xid,
  queue: string,
  bodies: readonly string[],
): Promise<readonly string[]> => {
  const messages = bodies.map((body) => messageOf(body));
  const answer = answered(await enqueue(call, { queue, messages, session, xid, idempotency: undefined }));
  if (isDeferred(answer)) throw new Error("in a branch nothing is deferred");
  return answer.messages.map(({ messageId }) => messageId);
};

/** Accepts deliveries in the branch: it holds them from now on. */
export const accepted = async (
  call: TestCall,
  session: Session,
  xid: Xid,
  deliveries: readonly Delivery[],
): Promise<void> => {
  const outcomes = answered(await accept(call, { deliveries, session, xid }));
  if (outcomes.some((outcome) => outcome !== "ok")) throw new Error(`accepted as ${outcomes.join(", ")}`);
};
