import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";

export type Decision = "commit" | "rollback";

/** What the transaction manager has decided, in a file, so that it is known before anyone is told. */
export interface TransactionLog {
  /** Decides the branch unless that was done before; answers the decision that stands. */
  decide(xid: string, decision: Decision): Decision;
  readonly commits: number;
  readonly rollbacks: number;
  close(): void;
}

/** Begins a new log. The first decision on a branch stands: recovery and the branch's own worker may both want to decide. */
export function openTransactionLog(path: string): TransactionLog {
  const file = openSync(path, "wx");
  const decisions = new Map<string, Decision>();
  const countOf = (wanted: Decision) => [...decisions.values()].filter((decision) => decision === wanted).length;
  return {
    decide(xid, decision) {
      const standing = decisions.get(xid);
      if (standing !== undefined) return standing;
      writeSync(file, `${JSON.stringify({ xid, decision })}\n`);
      fsyncSync(file);
      decisions.set(xid, decision);
      return decision;
    },
    get commits() {
      return countOf("commit");
    },
    get rollbacks() {
      return countOf("rollback");
    },
    close: () => closeSync(file),
  };
}
