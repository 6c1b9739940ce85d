/** What can happen to one call of the SDK: the faults of the crash matrix, each as a middleware around it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { SdkCall } from "../support/in-process.ts";
import type { Deliveries } from "../support/workers.ts";
import { conflicting, failed, inProgress, lost, type Random, throttled } from "./errors.ts";

/** How the time goes by in a case: as in one without a fault, or with a jump. */
export type Timing = "steady" | "frozen" | "days";

/** Longer than the table knows a token. */
export const FROZEN_MS = 11 * 60_000;
/** Longer than any record of the past is kept, and what a retention of an hour keeps. */
export const DAYS_MS = 9 * 24 * 3_600_000;

export interface Fault {
  readonly name: string;
  readonly timing: Timing;
  /** Whether a process came to its end in between, or an attempt comes late: what nothing names may be left. */
  readonly mayLeave: boolean;
  /** Of the workers: how often the queue delivers each message. */
  readonly deliveries?: Deliveries;
  /** The calls that it can happen to. */
  readonly strikes: (call: Pick<SdkCall, "operation" | "input">) => boolean;
  /** In place of the call: `next` makes it. */
  readonly aroundCall?: (struck: Struck, next: () => Promise<object>) => Promise<object>;
  /** In place of each attempt of the SDK, from 0: `send` makes it. */
  readonly aroundAttempt?: (struck: Struck, attempt: number, send: () => Promise<object>) => Promise<object>;
}

/** The call that a fault strikes, and what a fault may do to the world around it. */
export interface Struck {
  readonly call: SdkCall;
  readonly random: Random;
  /** The process stops here: the request is never answered, and does nothing more. */
  stop(): Promise<never>;
  /** The same call reaches the table once more, past the product; a token that was forgotten does not hold it back. */
  land(isForgotten?: boolean): Promise<object>;
  /** When the next call of the request was answered, or the request has ended without one; nobody hears how it ended. */
  afterSuccessor(work: () => Promise<unknown>): void;
  /** When the client has repeated what it was not answered; nobody hears how it ended. */
  afterRetry(work: () => Promise<unknown>): void;
  /** What the call reads of an earlier state: of the latest in which that differed, or before everything. */
  readPast(which: "last" | "none"): Promise<object>;
  /** Time that passes for everybody. */
  pass(ms: number): void;
  /** Deletes every record whose time to live has ended. */
  deleteEnded(): Promise<void>;
}

/** Whether a call changes the table. */
export const isWrite: Fault["strikes"] = ({ operation }) => writing.includes(operation);

const writing: readonly string[] = ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"];

const reading: readonly string[] = ["GetItem", "BatchGetItem", "Query"];

const all = () => true;
const transactions: Fault["strikes"] = ({ operation }) => operation === "TransactWriteItems";

/** Reads that may be late. */
export const isOrdinaryRead: Fault["strikes"] = (call) => {
  if (!reading.includes(call.operation)) return false;
  const input = call.input as { ConsistentRead?: boolean; RequestItems?: Record<string, { ConsistentRead?: boolean }> };
  const tables = Object.values(input.RequestItems ?? {});
  return tables.length > 0 ? tables.some((each) => each.ConsistentRead !== true) : input.ConsistentRead !== true;
};

const steady = { timing: "steady", mayLeave: false } as const;
const leaving = { timing: "steady", mayLeave: true } as const;

/** The first attempt fails so, or all. */
const once = (error: (struck: Struck) => Error): Pick<Fault, "aroundAttempt"> => ({
  async aroundAttempt(struck, attempt, send) {
    if (attempt === 0) throw error(struck);
    return send();
  },
});
const always = (error: (struck: Struck) => Error): Pick<Fault, "aroundAttempt"> => ({
  async aroundAttempt(struck) {
    throw error(struck);
  },
});

const stops: readonly Fault[] = [
  { name: "stopped before it", ...leaving, strikes: all, aroundCall: (struck) => struck.stop() },
  {
    name: "stopped after it",
    ...leaving,
    strikes: all,
    async aroundCall(struck, next) {
      await next();
      return struck.stop();
    },
  },
  {
    name: "stopped under way, and it lands after the retry",
    ...leaving,
    strikes: isWrite,
    aroundCall(struck) {
      struck.afterRetry(() => struck.land());
      return struck.stop();
    },
  },
];

const losses: readonly Fault[] = [
  {
    name: "answer lost",
    ...steady,
    strikes: all,
    async aroundAttempt(struck, attempt, send) {
      const answer = await send();
      if (attempt === 0) throw lost(struck.random);
      return answer;
    },
  },
  {
    name: "every answer lost",
    ...leaving,
    strikes: all,
    async aroundAttempt(struck, _attempt, send) {
      await send();
      throw lost(struck.random);
    },
  },
  {
    name: "lands again after its successor",
    ...leaving,
    strikes: isWrite,
    async aroundAttempt(struck, attempt, send) {
      if (attempt > 0) return send();
      struck.afterSuccessor(() => struck.land());
      throw lost(struck.random);
    },
  },
  {
    name: "answer lost, and lands again after its successor",
    ...leaving,
    strikes: isWrite,
    async aroundCall(struck, next) {
      const answer = await next();
      struck.afterSuccessor(() => struck.land());
      return answer;
    },
  },
];

const freezes: readonly Fault[] = [
  {
    name: "frozen before it",
    timing: "frozen",
    mayLeave: true,
    strikes: all,
    aroundCall(struck, next) {
      struck.pass(FROZEN_MS);
      return next();
    },
  },
  {
    name: "answer lost, frozen past the token's life",
    timing: "frozen",
    mayLeave: true,
    strikes: isWrite,
    async aroundAttempt(struck, attempt, send) {
      if (attempt === 0) {
        await send();
        struck.pass(FROZEN_MS);
        throw lost(struck.random);
      }
      return struck.land(true);
    },
  },
];

const refusals: readonly Fault[] = [
  { name: "throttled", ...steady, strikes: all, ...once(({ random, call }) => throttled(random, call.operation)) },
  {
    name: "throttled every time",
    ...leaving,
    strikes: all,
    ...always(({ random, call }) => throttled(random, call.operation)),
  },
  {
    name: "in conflict",
    ...steady,
    strikes: isWrite,
    ...once(({ random, call }) => conflicting(random, call.operation, call.input)),
  },
  { name: "in progress", ...steady, strikes: transactions, ...once(() => inProgress()) },
  { name: "5xx", ...steady, strikes: all, ...once(() => failed()) },
  {
    name: "applied, 5xx",
    ...steady,
    strikes: isWrite,
    async aroundAttempt(_struck, attempt, send) {
      const answer = await send();
      if (attempt === 0) throw failed();
      return answer;
    },
  },
  { name: "5xx every time", ...leaving, strikes: all, ...always(() => failed()) },
  {
    name: "slow",
    ...steady,
    strikes: all,
    async aroundCall(struck, next) {
      const answer = await next();
      await sleep(1 + struck.random() * 40);
      return answer;
    },
  },
];

const staleness: readonly Fault[] = [
  { name: "stale", ...steady, strikes: isOrdinaryRead, aroundCall: (struck) => struck.readPast("last") },
  {
    name: "read before everything",
    ...steady,
    strikes: isOrdinaryRead,
    aroundCall: (struck) => struck.readPast("none"),
  },
];

const deletions: readonly Fault[] = [
  {
    name: "time to live ends before it",
    timing: "days",
    mayLeave: false,
    strikes: all,
    async aroundCall(struck, next) {
      await struck.deleteEnded();
      return next();
    },
  },
];

/** What the queue does, whatever the calls do: no call is struck. */
export const deliveredTwice: readonly Fault[] = (["twice", "twice at once"] as const).map((deliveries) => ({
  name: `delivered ${deliveries}`,
  ...steady,
  deliveries,
  strikes: () => false,
}));

/** The same while one of the two workers stops, is slow, or comes late. */
export const struckBesides: readonly Fault[] = [...stops, ...refusals, ...losses]
  .filter(({ name }) => /^(stopped (before|after) it|slow|lands again after its successor)$/.test(name))
  .map((fault) => ({
    ...fault,
    name: `${fault.name}, delivered twice at once`,
    mayLeave: true,
    deliveries: "twice at once",
  }));

/** Every fault, in the order of the list that they come from. */
export const faults: readonly Fault[] = [...stops, ...losses, ...freezes, ...refusals, ...staleness, ...deletions];
