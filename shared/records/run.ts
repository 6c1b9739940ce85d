/**
 * The run's record: `v` version, `live` unsettled messages, `c` created (ms), `id` message id base, `s` slots, `z` sizes,
 * `o` overhead, `e` expiries, `d` drop time, `l` leases, `h` holds by incarnation, and either `b` (bodies) or `f` (chunk
 * starts) with `p` (owner, when it is not the run itself).
 */
import {
  type Hold,
  heldBy,
  type Lease,
  liveCount,
  type Payload,
  type Run,
  type RunKey,
  type Slot,
} from "../domain/run.ts";
import { parseXid } from "../domain/xid.ts";
import { runKey, runOwner } from "./keys.ts";
import { isMap, json, map, text, Unreadable, whole, wholeOrZero } from "./reading.ts";
import { pack, packIndexes, unpack, unpackAny, unpackIndexes } from "./repeats.ts";
import { absent, atVersion, type Item, type Value, type Write } from "./write.ts";

export const putNewRun = (run: Run): Write => ({
  kind: "put",
  key: runKey(run.key),
  item: runItem(run),
  require: [absent],
  otherwise: "reload",
});

/** What a changed run becomes in the table: rewritten, or deleted with its last message settled. */
export const writeRun = (before: Run, after: Run): Write =>
  liveCount(after) === 0
    ? { kind: "delete", key: runKey(before.key), require: [atVersion(before.version)], otherwise: "reload" }
    : {
        kind: "put",
        key: runKey(before.key),
        item: runItem(after),
        require: [atVersion(before.version)],
        otherwise: "reload",
      };

/**
 * A branch's end on a run, without having read it: names what it holds by its incarnation, not the run's version, so that
 * a busy run cannot starve a commit.
 */
export const decideHold = (
  key: RunKey,
  incarnation: string,
  held: number,
  outcome: "settle" | "release",
  isWhole: boolean,
): Write => {
  const undecided = [
    { is: "has", path: ["h", incarnation] },
    { is: "lacks", path: ["h", incarnation, "d"] },
  ] as const;
  if (outcome === "settle" && isWhole) {
    const require = [...undecided, { is: "equal", path: ["live"], value: held } as const];
    return { kind: "delete", key: runKey(key), require, otherwise: "reload" };
  }
  const isSettle = outcome === "settle";
  return {
    kind: "update",
    key: runKey(key),
    change: {
      set: [[["h", incarnation, "d"], isSettle ? "s" : "a"]],
      add: [[["v"], 1], ...(isSettle ? [[["live"], -held] as const] : [])],
    },
    require: [...undecided, ...(isSettle ? [{ is: "more-than", path: ["live"], value: held } as const] : [])],
    otherwise: "reload",
  };
};

export const runItem = (run: Run): Item => {
  const leases = new Map<string, { index: number; lease: Lease }>();
  const s = slotsText(run.slots, leases);
  return {
    ...runKey(run.key),
    v: run.version,
    live: liveCount(run),
    c: run.createdAtMs,
    id: run.messageIdBase,
    s,
    z: pack(run.sizes),
    o: run.overheadBytes,
    ...(run.expiries.some((at) => at !== 0) && { e: pack(run.expiries) }),
    ...(run.dropAtMs !== 0 && { d: run.dropAtMs }),
    ...(leases.size > 0 && { l: JSON.stringify([...leases.values()].map(({ lease }) => leaseTuple(lease))) }),
    ...holdsItem(run),
    ...payloadItem(run.key, run.payload),
  };
};

export const readRun = (item: Item, key: RunKey): Run => {
  try {
    const holds = "h" in item ? map(item, "h") : {};
    const leases = "l" in item ? (json(item, "l") as LeaseTuple[]).map(leaseOf) : [];
    const slots = readSlots(text(item, "s"), leases, holds);
    return {
      key,
      version: whole(item, "v"),
      createdAtMs: whole(item, "c"),
      messageIdBase: text(item, "id"),
      slots,
      sizes: unpack(text(item, "z"), slots.length),
      overheadBytes: whole(item, "o"),
      expiries: "e" in item ? unpack(text(item, "e"), slots.length) : slots.map(() => 0),
      dropAtMs: wholeOrZero(item, "d"),
      holds: readHolds(holds),
      payload: readPayload(item, key),
    };
  } catch (error) {
    throw error instanceof Unreadable
      ? error
      : new Unreadable(item, error instanceof Error ? error.message : "is broken");
  }
};

/** The key of a run read by a query of its partition. */
export const positionOf = (item: Item): number => {
  const match = /^M#(\d{20})$/.exec(text(item, "sk"));
  if (match === null) throw new Unreadable(item, "is not a run");
  return Number(match[1]);
};

/** Segments of equal slots, joined by `;`: `<count>a<deliveries>[@<visibleAtMs>]`, `l<deliveries>.<lease>`, `h<deliveries>`, `s`. */
const slotsText = (slots: readonly Slot[], leases: Map<string, { index: number; lease: Lease }>): string => {
  const segments: { word: string; count: number }[] = [];
  for (const slot of slots) {
    const word = slotWord(slot, leases);
    const last = segments.at(-1);
    if (last?.word === word) last.count++;
    else segments.push({ word, count: 1 });
  }
  return segments.map(({ word, count }) => `${count}${word}`).join(";");
};

const slotWord = (slot: Slot, leases: Map<string, { index: number; lease: Lease }>): string => {
  switch (slot.state) {
    case "available":
      return `a${slot.deliveries}${slot.visibleAtMs === 0 ? "" : `@${slot.visibleAtMs}`}`;
    case "leased": {
      const name = JSON.stringify(leaseTuple(slot.lease));
      const known = leases.get(name) ?? { index: leases.size, lease: slot.lease };
      leases.set(name, known);
      return `l${slot.deliveries}.${known.index}`;
    }
    case "held":
      return `h${slot.deliveries}`;
    case "settled":
      return "s";
  }
};

const segment = /^(\d+)(?:(s)|a(\d+)(?:@(\d+))?|l(\d+)\.(\d+)|h(\d+))$/;

type Holds = { readonly [incarnation: string]: Value | undefined };

const readSlots = (packed: string, leases: readonly Lease[], holds: Holds): readonly Slot[] => {
  const holders = holdersOf(holds);
  const slots: Slot[] = [];
  for (const part of packed.split(";")) {
    const match = segment.exec(part);
    if (match === null) throw new Error(`"${part}" is not a segment of slots`);
    for (let left = Number(match[1]); left > 0; left--) slots.push(readSlot(match, leases, holders.get(slots.length)));
  }
  return slots;
};

const readSlot = (match: RegExpExecArray, leases: readonly Lease[], holder: Holder | undefined): Slot => {
  if (match[2] !== undefined) return { state: "settled" };
  if (match[3] !== undefined)
    return { state: "available", deliveries: Number(match[3]), visibleAtMs: Number(match[4] ?? 0) };
  if (match[5] !== undefined) {
    const lease = leases[Number(match[6])];
    if (lease === undefined) throw new Error(`there is no lease ${match[6]}`);
    return { state: "leased", deliveries: Number(match[5]), lease };
  }
  if (holder === undefined) throw new Error("a message is held by nobody");
  const deliveries = Number(match[7]);
  if (holder.decided === "s") return { state: "settled" };
  if (holder.decided === "a") return { state: "available", deliveries, visibleAtMs: 0 };
  return { state: "held", deliveries, incarnation: holder.incarnation };
};

interface Holder {
  readonly incarnation: string;
  /** `s`: settled, `a`: available again; a decided hold is folded into the slots by the run's next rewriting. */
  readonly decided: Value | undefined;
}

const holdersOf = (holds: Holds): ReadonlyMap<number, Holder> => {
  const holders = new Map<number, Holder>();
  for (const [incarnation, entry] of Object.entries(holds)) {
    if (!isMap(entry) || typeof entry.i !== "string") throw new Error(`hold ${incarnation} is broken`);
    for (const index of unpackIndexes(entry.i)) holders.set(index, { incarnation, decided: entry.d });
  }
  return holders;
};

const holdsItem = (run: Run): Item => {
  const entries = Object.entries(run.holds).flatMap(([incarnation, by]) => {
    const indexes = heldBy(run, incarnation);
    if (indexes.length === 0) return [];
    const { xid, deadlineMs, session } = by;
    return [[incarnation, { x: xid, t: deadlineMs, n: session.name, e: session.epoch, i: packIndexes(indexes) }]];
  });
  return entries.length === 0 ? {} : { h: Object.fromEntries(entries) as Value };
};

const readHolds = (holds: Holds): Readonly<Record<string, Hold>> =>
  Object.fromEntries(
    Object.entries(holds).flatMap(([incarnation, entry]) => {
      if (!isMap(entry) || entry.d !== undefined) return [];
      const xid = typeof entry.x === "string" ? parseXid(entry.x) : undefined;
      if (
        xid === undefined ||
        typeof entry.t !== "number" ||
        typeof entry.n !== "string" ||
        typeof entry.e !== "number"
      ) {
        throw new Error(`hold ${incarnation} is broken`);
      }
      return [[incarnation, { xid, deadlineMs: entry.t, session: { name: entry.n, epoch: entry.e } }]];
    }),
  );

type LeaseTuple = [token: string, expiresAtMs: number, session?: string, epoch?: number];

const leaseTuple = ({ token, expiresAtMs, session }: Lease): LeaseTuple =>
  session === undefined ? [token, expiresAtMs] : [token, expiresAtMs, session.name, session.epoch];

const leaseOf = ([token, expiresAtMs, name, epoch]: LeaseTuple): Lease => ({
  token,
  expiresAtMs,
  ...(name !== undefined && epoch !== undefined && { session: { name, epoch } }),
});

const payloadItem = (key: RunKey, payload: Payload): Item => {
  if (payload.kind === "inline") return { b: payload.bytes };
  return { f: pack(payload.firsts), ...(payload.owner !== runOwner(key) && { p: payload.owner }) };
};

const readPayload = (item: Item, key: RunKey): Payload => {
  if (item.b instanceof Uint8Array) return { kind: "inline", bytes: item.b };
  return {
    kind: "chunks",
    owner: "p" in item ? text(item, "p") : runOwner(key),
    firsts: unpackAny(text(item, "f")),
  };
};
