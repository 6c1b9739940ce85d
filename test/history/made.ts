/** What made histories are put together from: the queue `q` and its neighbours. */
import { KILL_OF_EVERYTHING } from "./ends.ts";
import type { Asked, Completed, Counts, Delivered, Entry, QueueRules, Sending, Told } from "./history.ts";

/** One call after the other, each answered before the next begins; `told` undefined: no answer came. */
export const history = (...calls: readonly (readonly [Asked, Told?])[]): readonly Entry[] =>
  calls.map(([asked, told], i) => ({
    n: i + 1,
    who: "w",
    atMs: i * 10,
    asked,
    ...(told !== undefined && { told, untilMs: i * 10 + 5 }),
  }));

export const out = (message: string, sequence: number, redelivered = false): Delivered => ({
  message,
  deliveryId: `${message}-${sequence}`,
  sequence: String(sequence),
  redelivered,
});

export const xid = "1.aa.";
export const enqueue = (message: string, sequence: number, queue = "q") =>
  [{ call: "enqueue", queue, messages: [message] }, { sequences: [String(sequence)] }] as const;
export const enqueueIn = (message: string, queue: string) =>
  [{ call: "enqueue", queue, messages: [message], xid }, { sequences: [""] }] as const;
export const acquire = (...deliveries: readonly Delivered[]) =>
  [{ call: "acquire", queue: "q" }, { deliveries }] as const;
export const drain = (queue: string, ...deliveries: readonly Delivered[]) =>
  [{ call: "drain", queue }, { deliveries }] as const;
export const accept = (message: string, sequence: number, inside?: string) =>
  [
    { call: "accept", deliveries: [out(message, sequence)], ...(inside !== undefined && { xid: inside }) },
    { statuses: ["accepted"] },
  ] as const;
export const verb = (call: "prepare" | "commit" | "rollback", xa = "XA_OK") => [{ call, xid }, { xa }] as const;
export const outcome = (what: "committed" | "rolled-back" | "unknown") =>
  [{ call: "outcome", xid }, { outcome: what }] as const;
export const none: Counts = { available: 0, leased: 0, held: 0, enqueued: 9, settled: 9, deadLettered: 0, changes: 18 };
export const stats = (counts: Partial<Counts>, isAtRest = false) =>
  [{ call: "stats", queue: "q", isAtRest }, { stats: { ...none, ...counts } }] as const;
/** A queue of two, one that gives its dead to `dlq`, one that ends messages by their time. */
export const declare = (queue: string, rules: QueueRules) =>
  [{ call: "declare", queue, rules }, { done: true }] as const;
export const withLetters = declare("q", { deadLetterQueue: "dlq" });
export const ring = declare("q", { maxMessages: 2, overflow: "ring" });
export const letter = (message: string, sequence: number, reason = "rejected", deliveryCount = 1): Delivered => ({
  ...out(message, sequence),
  deliveryId: `${message}-dead-${sequence}`,
  dead: { queue: "q", reason, deliveryCount },
});
export const reject = (message: string, sequence: number) =>
  [{ call: "reject", queue: "q", deliveries: [out(message, sequence)] }, { statuses: ["rejected"] }] as const;
export const redrive = [{ call: "redrive", queue: "dlq" }, { redriven: 1 }] as const;
export const published: Asked = { call: "publish", exchange: "x", queues: ["q", "r"], messages: ["a"] };
export const full = { refused: "resource-limit-exceeded" };
export const enqueueOf = (...messages: readonly string[]): Asked => ({ call: "enqueue", queue: "q", messages });

export const attach = (epoch: number) => [{ call: "attach", session: { name: "s", epoch: 0 } }, { epoch }] as const;

const inSession = (epoch = 1) => ({ session: { name: "s", epoch } });
/** Messages of session `s`, each call answered by its sequence. */
export const sent = (message: string, sequence: number, how: Sending = {}) =>
  [
    { call: "enqueue", queue: "q", messages: [message], ...inSession(), ...how },
    { sequences: [how.isTransient === true ? "" : String(sequence)] },
  ] as const;
/** As a command of session `s`. */
export const later = (message: string, id: string, how: Sending = {}) =>
  [
    { call: "enqueue", queue: "q", messages: [message], ...inSession(), isLater: true, ...how },
    { commandId: id },
  ] as const;
export const acceptLater = (message: string, sequence: number, id: string) =>
  [{ call: "accept", deliveries: [out(message, sequence)], ...inSession(), isLater: true }, { commandId: id }] as const;
export const put = (id: string, sequence: number): Completed => ({
  id,
  status: 201,
  places: [{ q: String(sequence) }],
});
export const read = (after: string, through: string, ...completions: readonly Completed[]) =>
  [
    { call: "completions", ...inSession(0), after },
    { completions, through },
  ] as const;
export const readAtRest = (through: string, ...completions: readonly Completed[]) =>
  [
    { call: "completions", ...inSession(0), after: "0", isAtRest: true },
    { completions, through },
  ] as const;
export const detach = [{ call: "detach", ...inSession() }, { done: true }] as const;
export const killOfAll = [{ call: "event", what: KILL_OF_EVERYTHING }, { done: true }] as const;

/** A swap of `a` for `b`, committed: everything that one does right. */
export const swap = [
  enqueue("a", 1),
  acquire(out("a", 1)),
  accept("a", 1, xid),
  enqueueIn("b", "r"),
  verb("prepare"),
] as const;
