/** What recovery did and found, as answers show it. */
import type { Xid } from "../domain/xid.ts";
import { isoTime } from "./branch-form.ts";

interface InDoubt {
  readonly xid: Xid;
  readonly preparedAtMs: number;
  readonly enqueues: readonly { readonly queue: string; readonly messageId: string }[];
  readonly dequeues: readonly { readonly queue: string; readonly messageId: string; readonly sequence: string }[];
  readonly more: boolean;
}

export const recoveryForm = (recovery: {
  readonly inDoubt: readonly InDoubt[];
  readonly finished: number;
  readonly rolledBack: number;
  readonly unreadable: readonly string[];
  readonly more: boolean;
}) => ({
  inDoubt: recovery.inDoubt.map(({ xid, preparedAtMs, enqueues, dequeues, more }) => ({
    xid,
    preparedAt: isoTime(preparedAtMs),
    enqueues,
    dequeues,
    ...(more && { more }),
  })),
  finished: recovery.finished,
  rolledBack: recovery.rolledBack,
  unreadable: recovery.unreadable.map((key) => ({ key })),
  ...(recovery.more && { more: true }),
});
