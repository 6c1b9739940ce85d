/** Histories that show nothing: all that a check must let pass. */
import type { Asked, Entry } from "./history.ts";
import {
  accept,
  acquire,
  attach,
  declare,
  drain,
  enqueue,
  enqueueOf,
  full,
  history,
  letter,
  out,
  outcome,
  published,
  redrive,
  reject,
  ring,
  stats,
  swap,
  verb,
  withLetters,
  xid,
} from "./made.ts";

export const good: readonly (readonly [what: string, entries: readonly Entry[]])[] = [
  [
    "a swap that is committed",
    history(...swap, verb("commit"), outcome("committed"), drain("q"), drain("r", out("b", 1))),
  ],
  [
    "a swap that is rolled back",
    history(...swap, verb("rollback"), outcome("rolled-back"), drain("q", out("a", 1, true)), drain("r")),
  ],
  [
    "answers that did not come",
    history(
      [{ call: "enqueue", queue: "q", messages: ["a"] }],
      [{ call: "acquire", queue: "q" }],
      acquire(out("a", 1, true)),
      [{ call: "accept", deliveries: [out("a", 1)] }],
      drain("q"),
    ),
  ],
  [
    "a delivery that says redelivered",
    history(enqueue("a", 1), acquire(out("a", 1)), acquire(out("a", 1, true)), accept("a", 1), drain("q")),
  ],
  [
    "a refused enqueue",
    history([{ call: "enqueue", queue: "q", messages: ["a"] }, { refused: "unavailable" }], drain("q")),
  ],
  [
    "a reject, a redrive, an accept",
    history(
      withLetters,
      enqueue("a", 1),
      acquire(out("a", 1)),
      reject("a", 1),
      [{ call: "acquire", queue: "dlq" }, { deliveries: [letter("a", 1)] }],
      redrive,
      acquire(out("a", 2)),
      accept("a", 2),
      drain("q"),
      drain("dlq"),
    ),
  ],
  ["a reject where nothing keeps the dead", history(enqueue("a", 1), acquire(out("a", 1)), reject("a", 1), drain("q"))],
  [
    "messages whose time is over: kept as dead letters, or gone",
    history(
      withLetters,
      [{ ...enqueueOf("a"), ttlSeconds: 1 } as Asked, { sequences: ["1"] }],
      declare("r", { messageTtlSeconds: 1 }),
      enqueue("b", 1, "r"),
      drain("q"),
      drain("r"),
      drain("dlq", letter("a", 1, "expired", 0)),
    ),
  ],
  [
    "one that was delivered as often as it may be",
    history(
      declare("q", { deadLetterQueue: "dlq", maxDeliveries: 1 }),
      enqueue("a", 1),
      acquire(out("a", 1)),
      drain("q"),
      drain("dlq", letter("a", 1, "max-deliveries")),
    ),
  ],
  [
    "a ring that drops its oldest, and a full queue that refuses",
    history(
      ring,
      enqueue("a", 1),
      enqueue("b", 2),
      enqueue("c", 3),
      [enqueueOf("d", "e", "f"), full],
      drain("q", out("b", 2), out("c", 3)),
    ),
  ],
  [
    "a ring whose oldest somebody had",
    history(
      ring,
      enqueue("a", 1),
      acquire(out("a", 1)),
      enqueue("b", 2),
      enqueue("c", 3),
      drain("q", out("a", 1, true), out("c", 3)),
    ),
  ],
  [
    "a publish: a copy on each queue",
    history([published, { sequences: ["1", "7"] }], drain("q", out("a on q", 1)), drain("r", out("a on r", 7))),
  ],
  ["a publish that was not answered, and is nowhere", history([published], drain("q"), drain("r"))],
  [
    "depth and counters",
    history(
      enqueue("a", 1),
      stats({ enqueued: 1, settled: 0, changes: 1 }),
      stats({ available: 1 }, true),
      drain("q", out("a", 1)),
    ),
  ],
  [
    "a new epoch",
    history(
      attach(1),
      [{ call: "start", xid, session: { name: "s", epoch: 1 } }, { xa: "XA_OK" }],
      attach(2),
      verb("rollback"),
    ),
  ],
];
