/**
 * The run, this store's mapping record: up to 100 messages that one enqueue or one branch put on a queue, and the state
 * of each. The state machine of a message: available → leased → (settled | available), leased → held → (settled |
 * available). Rules: `docs/guarantees.md`. Nothing here reads a clock or the table.
 */
import type { PartitionRef, QueueSettings } from "./queue.ts";
import type { SessionRef } from "./session.ts";
import type { Xid } from "./xid.ts";

export interface RunKey extends PartitionRef {
  /** Position of the first message in its partition. */
  readonly position: number;
}

export interface Lease {
  /** Made by the acquire; whoever names it may settle. */
  readonly token: string;
  readonly expiresAtMs: number;
  /** The lease ends with this session's epoch too. */
  readonly session?: SessionRef;
}

/** `deliveries` counts the deliveries begun so far. */
export type Slot =
  | { readonly state: "available"; readonly deliveries: number; readonly visibleAtMs: number }
  | { readonly state: "leased"; readonly deliveries: number; readonly lease: Lease }
  | { readonly state: "held"; readonly deliveries: number; readonly incarnation: string }
  | { readonly state: "settled" };

/** What a branch holds of a run: enough to find the branch, and to know when to look at it. */
export interface Hold {
  readonly xid: Xid;
  /** The branch's deadline when it took hold; a prepared branch has none any more. */
  readonly deadlineMs: number;
  readonly session: SessionRef;
}

/** Where the bodies are: in the record, or in payload chunks under an owner. */
export type Payload =
  | { readonly kind: "inline"; readonly bytes: Uint8Array }
  /** `firsts[c]` is the index of the message that chunk c begins with, or goes on with. */
  | { readonly kind: "chunks"; readonly owner: string; readonly firsts: readonly number[] };

export interface Run {
  readonly key: RunKey;
  readonly version: number;
  readonly createdAtMs: number;
  /** Message ids that were not given are this, a dash, and the index. */
  readonly messageIdBase: string;
  readonly slots: readonly Slot[];
  /** Body bytes of each message. */
  readonly sizes: readonly number[];
  /** The most that any of its messages adds to its body in an answer, in bytes. */
  readonly overheadBytes: number;
  /** When each message's time to live ends, in ms; 0: never. */
  readonly expiries: readonly number[];
  /** When the queue's retention drops them, in ms; 0: never. */
  readonly dropAtMs: number;
  readonly holds: Readonly<Record<string, Hold>>;
  readonly payload: Payload;
}

/** Tells whether a session still is at that epoch; read freshly by whoever wants to break a lease. */
export type IsAlive = (session: SessionRef) => boolean;

/** How a message stands at a moment: its state, and what time has made of it. */
export type Standing = "available" | "delayed" | "leased" | "held" | "settled" | "expired" | "dropped" | "exhausted";

export const isLeaseInForce = (lease: Lease, nowMs: number, isAlive: IsAlive): boolean =>
  lease.expiresAtMs > nowMs && (lease.session === undefined || isAlive(lease.session));

/**
 * Time takes a message only while nobody has it: a lease or a hold outlasts its expiry.
 * `expired` goes to the dead-letter queue, so does `exhausted` (delivered `maxDeliveries` times); `dropped` goes nowhere.
 */
export const standingOf = (
  run: Run,
  index: number,
  settings: QueueSettings,
  nowMs: number,
  isAlive: IsAlive,
): Standing => {
  const slot = slotAt(run, index);
  if (slot.state === "settled" || slot.state === "held") return slot.state;
  if (slot.state === "leased" && isLeaseInForce(slot.lease, nowMs, isAlive)) return "leased";
  if (run.dropAtMs !== 0 && run.dropAtMs <= nowMs) return "dropped";
  const expiresAtMs = run.expiries[index] ?? 0;
  if (expiresAtMs !== 0 && expiresAtMs <= nowMs) return "expired";
  if (settings.maxDeliveries > 0 && slot.deliveries >= settings.maxDeliveries) return "exhausted";
  return slot.state === "available" && slot.visibleAtMs > nowMs ? "delayed" : "available";
};

export const slotAt = (run: Run, index: number): Slot => {
  const slot = run.slots[index];
  if (slot === undefined) throw new Error(`run ${run.key.name} has no message ${index}`);
  return slot;
};

/** Messages not settled yet. */
export const liveCount = (run: Run): number => run.slots.reduce((n, slot) => n + (slot.state === "settled" ? 0 : 1), 0);

export const sizeOf = (run: Run, indexes: readonly number[]): number =>
  indexes.reduce((sum, index) => sum + (run.sizes[index] ?? 0), 0);

/** The outcome of one delivery of a settling call; `ok` stands for the verb's own word. */
export type SettleOutcome = "ok" | "lease-lost" | "locked" | "not-found";

/**
 * Whether the delivery may be settled now. `incarnation` is the branch's, when the call is part of one: what that branch
 * holds already is `ok` again.
 */
export const judge = (
  slot: Slot | undefined,
  token: string,
  incarnation: string | undefined,
  nowMs: number,
  isAlive: IsAlive,
): SettleOutcome => {
  if (slot === undefined || slot.state === "settled") return "not-found";
  if (slot.state === "held") return slot.incarnation === incarnation ? "ok" : "locked";
  const ours = slot.state === "leased" && slot.lease.token === token && isLeaseInForce(slot.lease, nowMs, isAlive);
  return ours ? "ok" : "lease-lost";
};

const change = (run: Run, indexes: readonly number[], next: (slot: Slot) => Slot): Run => {
  const slots = [...run.slots];
  for (const index of indexes) slots[index] = next(slotAt(run, index));
  return { ...run, version: run.version + 1, slots };
};

const deliveriesOf = (slot: Slot): number => (slot.state === "settled" ? 0 : slot.deliveries);

/** Delivers: a lease for each, one more delivery counted. */
export const lease = (run: Run, indexes: readonly number[], under: Lease): Run =>
  change(run, indexes, (slot) => ({ state: "leased", deliveries: deliveriesOf(slot) + 1, lease: under }));

export const settle = (run: Run, indexes: readonly number[]): Run => change(run, indexes, () => ({ state: "settled" }));

/** Back to the original position; the deliveries so far count. */
export const release = (run: Run, indexes: readonly number[], visibleAtMs: number): Run =>
  change(run, indexes, (slot) => ({ state: "available", deliveries: deliveriesOf(slot), visibleAtMs }));

export const extend = (run: Run, indexes: readonly number[], expiresAtMs: number): Run =>
  change(run, indexes, (slot) => (slot.state === "leased" ? { ...slot, lease: { ...slot.lease, expiresAtMs } } : slot));

/** From leased to held by a branch's incarnation. */
export const hold = (run: Run, indexes: readonly number[], incarnation: string, by: Hold): Run => ({
  ...change(run, indexes, (slot) => ({ state: "held", deliveries: deliveriesOf(slot), incarnation })),
  holds: { ...run.holds, [incarnation]: by },
});

/** The indexes that a branch's incarnation holds. */
export const heldBy = (run: Run, incarnation: string): readonly number[] =>
  run.slots.flatMap((slot, i) => (slot.state === "held" && slot.incarnation === incarnation ? [i] : []));

export const messageIdOf = (messageIdBase: string, index: number): string => `${messageIdBase}-${index}`;
