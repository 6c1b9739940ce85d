import { type Refusal, refuse } from "../../domain/refusal.ts";
import { isAliveAt, mayHaveOpenCommands, type Session } from "../../domain/session.ts";
import type { Xid } from "../../domain/xid.ts";
import { readBranch } from "../../records/branch.ts";
import type { Item } from "../../records/write.ts";
import { countOpen } from "../asynchronous/open-commands.ts";
import type { Context } from "../context.ts";
import { pickBranches } from "../dtx/branch-items.ts";
import { readable } from "../recovery/readable.ts";
import { loadSession } from "./liveness.ts";

export interface SessionView {
  readonly session: Session;
  /** As time has left it. */
  readonly state: Session["state"];
  /** The branches that it is associated with at its current epoch. */
  readonly branches: readonly { readonly xid: Xid; readonly state: "active" | "suspended" }[];
  readonly openCommands: number;
}

/** A session as it is; looking at it renews nothing. */
export const getSession = async (context: Context, name: string): Promise<SessionView | Refusal> => {
  const session = await loadSession(context, name);
  if (session === undefined) return refuse("not-found", `session ${name} does not exist`);
  const count = mayHaveOpenCommands(session) ? await countOpen(context, name) : 0;
  if (!isAliveAt(session, session.epoch, context.now())) {
    return { session, state: session.state === "detached" ? "detached" : "expired", branches: [], openCommands: count };
  }
  const branches = await pickBranches(context, (item) => associationIn(item, session));
  return { session, state: "attached", branches, openCommands: count };
};

const associationIn = (item: Item, session: Session): SessionView["branches"][number] | undefined => {
  const branch = readable(() => readBranch(item));
  const association = branch?.associations.find((a) => a.name === session.name && a.epoch === session.epoch);
  if (branch === undefined || association === undefined) return undefined;
  return { xid: branch.xid, state: association.isSuspended ? "suspended" : "active" };
};
