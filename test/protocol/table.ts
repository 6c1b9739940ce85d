/**
 * The table of the model: two sessions, two branches, one message, each a value of the product's own types. What grows
 * without bound is left out: versions (a condition on one says "nobody has written since I read", and that is kept with
 * the reader), times (a deadline is over or it is not), texts.
 */
import type { Branch } from "../../shared/domain/branch.ts";
import type { Add, Operation, Remove } from "../../shared/domain/operation.ts";
import { defaultSettings } from "../../shared/domain/queue.ts";
import type { Lease, Run, RunKey } from "../../shared/domain/run.ts";
import type { Session, SessionRef } from "../../shared/domain/session.ts";
import { parseXid, type Xid } from "../../shared/domain/xid.ts";

export type SessionName = "S1" | "S2";
export type BranchName = "X" | "Y";
/** `M` is the run of the one message. */
export type RecordName = SessionName | BranchName | "M";

export interface World {
  readonly S1: Session;
  readonly S2: Session;
  readonly X: Branch | undefined;
  readonly Y: Branch | undefined;
  readonly M: Run | undefined;
  /** The records whose time is over: a session's expiry, a branch's deadline, the lease of the message. */
  readonly over: readonly RecordName[];
  readonly past: Past;
}

/** What no record holds: only the invariants look at it. */
export interface Past {
  /** By incarnation. */
  readonly lives: Readonly<Record<string, Life>>;
  /** How often the message was settled, by whomever. */
  readonly settled: number;
  /** Sessions at an epoch (`S1@1`) on whose end someone has acted while the table still has them attached. */
  readonly actedOn: readonly string[];
  /** Resumes and detaches that were answered: `resume S1`. */
  readonly answered: readonly string[];
}

/** One life of an xid: what was enlisted, what was decided, and how often its add was put on the queue. */
export interface Life {
  readonly outcome?: "commit" | "rollback" | "both";
  readonly added: boolean;
  readonly removed: boolean;
  /** Some of it landed behind the fence of its session, which was alive when it was read. */
  readonly isLate: boolean;
  readonly copies: number;
}

export const sessionNames: readonly SessionName[] = ["S1", "S2"];
export const branchNames: readonly BranchName[] = ["X", "Y"];

/** Every deadline lies here; the clock of a record shows 0 before and 2 after. */
const DEADLINE = 1;

export const nowOf = (world: World, record: RecordName): number => (world.over.includes(record) ? 2 : 0);

export const xids: Readonly<Record<BranchName, Xid>> = { X: xidOf("1.0a."), Y: xidOf("1.0b.") };

function xidOf(text: string): Xid {
  const xid = parseXid(text);
  if (xid === undefined) throw new Error(`${text} is no xid`);
  return xid;
}

export const nameOfBranch = (incarnation: string): BranchName => (incarnation.startsWith("X") ? "X" : "Y");

const key: RunKey = { name: "q", generation: "g", partition: 0, position: 1 };
export const settings = defaultSettings;

const inline = { kind: "inline", bytes: new Uint8Array() } as const;
export const add: Add = {
  kind: "add",
  id: "add",
  queue: "q",
  generation: "g",
  partition: 0,
  sizes: [1],
  overheadBytes: 0,
  messageIdBase: "",
  ttlSeconds: [0],
  deduplications: [],
  payload: inline,
};
export const remove: Remove = { kind: "remove", id: "remove", run: key, indexes: [0], bytes: 1, isWhole: true };

export const listed = (branch: Branch | undefined, kind: Operation["kind"]): boolean =>
  branch?.operations.some((operation) => operation.kind === kind) === true;

const session = (name: SessionName): Session => ({
  name,
  version: 0,
  epoch: 1,
  state: "attached",
  timeoutSeconds: 1,
  expiresAtMs: DEADLINE,
  detachedEpochs: [],
  commands: 0,
  completedThrough: 0,
  isListed: false,
});

/** Both sessions attached, no branch, the message available. */
export const initial: World = {
  S1: session("S1"),
  S2: session("S2"),
  X: undefined,
  Y: undefined,
  M: {
    key,
    version: 0,
    createdAtMs: 0,
    messageIdBase: "m",
    slots: [{ state: "available", deliveries: 0, visibleAtMs: 0 }],
    sizes: [1],
    overheadBytes: 0,
    expiries: [0],
    dropAtMs: 0,
    holds: {},
    payload: inline,
  },
  over: [],
  past: { lives: {}, settled: 0, actedOn: [], answered: [] },
};

/** The values without what grows. */
export const plainSession = (value: Session): Session => ({ ...value, version: 0, expiresAtMs: DEADLINE });

export const plainBranch = (value: Branch): Branch => {
  const { state } = value;
  const texts = state.name === "rollback-only" ? { ...state, reason: "" } : state;
  return {
    ...value,
    version: 0,
    timeoutSeconds: 1,
    deadlineMs: DEADLINE,
    messages: 0,
    associations: value.associations.toSorted(byText(({ name }) => name)),
    workers: value.workers.toSorted(byText(({ name }) => name)),
    operations: value.operations.toSorted(byText(({ kind }) => kind)),
    state: texts,
  };
};

export const plainRun = (value: Run): Run => ({
  ...value,
  version: 0,
  slots: value.slots.map((slot) => (slot.state === "settled" ? slot : { ...slot, deliveries: 0 })),
  holds: Object.fromEntries(
    Object.entries(value.holds).filter(([incarnation]) =>
      value.slots.some((slot) => slot.state === "held" && slot.incarnation === incarnation),
    ),
  ),
});

/** A lease whose end lies ahead. */
export const leaseOf = (token: string, by: SessionRef): Lease => ({ token, expiresAtMs: DEADLINE, session: by });

/** A plain order of texts: what is kept as a list but means a set has one form. */
export const byText =
  <T>(text: (value: T) => string) =>
  (a: T, b: T): number =>
    text(a) < text(b) ? -1 : 1;
