/** What a call is: what it reads, what it decides, and the one commit that it attempts. */
import { fence, isAliveAt, type SessionRef } from "../../shared/domain/session.ts";
import type { Rules } from "./rules.ts";
import { type BranchName, nowOf, type RecordName, type SessionName, type World } from "./table.ts";

/** What a call has read: each record as it was then, and whether its time was over by the caller's clock. */
export type View = World;

/** A commit: the records whose version it names, and what it makes of the table; undefined when another condition fails. */
export interface Commit {
  readonly does: string;
  readonly names: readonly RecordName[];
  readonly apply: (table: World) => World | undefined;
  /** It is a decision of this branch's outcome. */
  readonly decides?: BranchName;
}

export interface Call {
  readonly id: string;
  /** The caller's session: it is read first, or at the same time as the branch. */
  readonly own?: SessionRef & { readonly name: SessionName };
  /** The records that it may read, and of these the ones whose version it names whatever it decides. */
  readonly most: (rules: Rules) => { readonly reads: readonly RecordName[]; readonly names: readonly RecordName[] };
  readonly decide: (view: View, rules: Rules) => Commit | undefined;
}

/** The session in whose name a call is made. */
export type Own = NonNullable<Call["own"]>;

export interface Sizes {
  /** Branches that are larger than one commit. */
  readonly large: readonly BranchName[];
  /** Lives that each xid may have. */
  readonly lives: Readonly<Record<BranchName, number>>;
}

export const ref = (session: SessionRef): string => `${session.name}@${session.epoch}`;
export const nameOf = (session: SessionRef): SessionName => (session.name === "S1" ? "S1" : "S2");

export const isAliveIn = (view: View) => (session: SessionRef) => {
  const name = nameOf(session);
  return isAliveAt(view[name], session.epoch, nowOf(view, name));
};

export const isFenced = (view: View, own: SessionRef): boolean =>
  fence(view[nameOf(own)], own, nowOf(view, nameOf(own))) !== undefined;
