/** The verbs of branches, each in the states that it fits. */
import type { Operation } from "../operation.ts";
import { idle, onBranch, prepared, working } from "./making.ts";

export const branches: readonly Operation[] = [
  onBranch("POST /dtx/{xid}/end", "plainly", working, (c, { x }) => c.end(x)),
  onBranch("POST /dtx/{xid}/prepare", "idle", idle, (c, { x }) => c.prepare(x)),
  onBranch("POST /dtx/{xid}/commit", "in two phases", prepared, (c, { x }) => c.commit(x)),
  onBranch("POST /dtx/{xid}/commit", "in one phase", idle, (c, { x }) => c.commit(x, { onePhase: true })),
  onBranch("POST /dtx/{xid}/rollback", "prepared", prepared, (c, { x }) => c.rollback(x)),
];
