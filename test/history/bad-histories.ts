/** Histories that show an anomaly, what it is, and the entries that show it: messages, branches, counters, sessions. */
import type { AnomalyName } from "./anomaly.ts";
import type { Entry } from "./history.ts";
import {
  accept,
  acquire,
  attach,
  drain,
  enqueue,
  enqueueIn,
  history,
  out,
  outcome,
  stats,
  swap,
  verb,
  xid,
} from "./made.ts";

export type Bad = readonly (readonly [
  AnomalyName,
  what: string,
  entries: readonly Entry[],
  slice: readonly number[],
])[];

export const bad: Bad = [
  [
    "lost",
    "an acknowledged message is nowhere",
    history(enqueue("z", 1), enqueue("a", 2), drain("q", out("z", 1))),
    [2, 3],
  ],
  ["invented", "nobody enqueued it", history(drain("q", out("a", 1))), [1]],
  [
    "invented",
    "it was refused",
    history([{ call: "enqueue", queue: "q", messages: ["a"] }, { refused: "not-found" }], acquire(out("a", 1))),
    [1, 2],
  ],
  [
    "invented",
    "its branch was not committed yet",
    history(
      enqueueIn("a", "q"),
      acquire(out("a", 1)),
      verb("commit"),
      outcome("committed"),
      drain("q", out("a", 1, true)),
    ),
    [1, 2],
  ],
  ["invented", "it is on another queue", history(enqueue("a", 1, "r"), drain("q", out("a", 1))), [1, 2]],
  [
    "doubled",
    "delivered again without saying so",
    history(enqueue("a", 1), acquire(out("a", 1)), drain("q", out("a", 1))),
    [2, 3],
  ],
  ["doubled", "in two places", history(enqueue("a", 1), acquire(out("a", 1)), drain("q", out("a", 7, true))), [2, 3]],
  [
    "reordered",
    "a later call stands before an earlier one",
    history(enqueue("a", 5), enqueue("b", 4), drain("q", out("b", 4), out("a", 5))),
    [1, 2],
  ],
  [
    "reordered",
    "an answer is not in order",
    history(enqueue("a", 4), enqueue("b", 5), drain("q", out("b", 5), out("a", 4))),
    [3],
  ],
  [
    "reordered",
    "a branch's publishes change places",
    history(enqueueIn("a", "r"), enqueueIn("b", "r"), verb("commit"), drain("r", out("b", 1), out("a", 2))),
    [1, 2],
  ],
  [
    "torn branch",
    "committed, its enqueue is nowhere",
    history(...swap, verb("commit"), drain("q"), drain("r")),
    [4, 6],
  ],
  [
    "torn branch",
    "committed, its accept came back",
    history(...swap, outcome("committed"), drain("q", out("a", 1, true)), drain("r", out("b", 1))),
    [3, 6, 7],
  ],
  [
    "torn branch",
    "rolled back, its enqueue is there",
    history(...swap, verb("rollback"), drain("q", out("a", 1, true)), drain("r", out("b", 1))),
    [4, 6, 8],
  ],
  [
    "torn branch",
    "rolled back, its accept never came back",
    history(...swap, verb("rollback"), drain("q"), drain("r")),
    [3, 6],
  ],
  [
    "torn branch",
    "half of it, whatever it became",
    history(...swap, outcome("unknown"), drain("q"), drain("r")),
    [3, 4],
  ],
  [
    "two outcomes",
    "committed and rolled back",
    history(...swap, verb("commit"), verb("rollback"), drain("q"), drain("r", out("b", 1))),
    [6, 7],
  ],
  [
    "two outcomes",
    "it answers other than what it became",
    history(...swap, verb("commit"), outcome("rolled-back"), drain("q"), drain("r", out("b", 1))),
    [6, 7],
  ],
  [
    "prepared, then decided by nobody",
    "a timer rolled it back",
    history(...swap, outcome("rolled-back"), drain("q", out("a", 1, true)), drain("r")),
    [5, 6],
  ],
  [
    "accept that came back",
    "outside a branch",
    history(enqueue("a", 1), acquire(out("a", 1)), accept("a", 1), drain("q", out("a", 1, true))),
    [3, 4],
  ],
  [
    "accept that came back",
    "by a commit",
    history(...swap, verb("commit"), drain("q", out("a", 1, true)), drain("r", out("b", 1))),
    [6, 7],
  ],
  ["depth that a drain contradicts", "more than there is", history(stats({ available: 1 }, true), drain("q")), [1, 2]],
  ["depth that a drain contradicts", "held at rest", history(stats({ held: 1 }, true), drain("q")), [1, 2]],
  ["counter that went back", "settled", history(stats({ settled: 5 }), stats({ settled: 4 })), [1, 2]],
  [
    "counter that runs behind",
    "enqueued",
    history(enqueue("a", 1), stats({ enqueued: 0 }), drain("q", out("a", 1))),
    [1, 2],
  ],
  [
    "old epoch that was let through",
    "a start",
    history(attach(1), attach(2), [{ call: "start", xid, session: { name: "s", epoch: 1 } }, { xa: "XA_OK" }]),
    [2, 3],
  ],
];
