import { describe, expect, it } from "vitest";
import type { AnomalyName } from "./anomaly.ts";
import { check } from "./checker.ts";
import { type Asked, type Counts, type Delivered, type Entry, fromLines, type Told, toLines } from "./history.ts";

/** One call after the other, each answered before the next begins; `told` undefined: no answer came. */
const history = (...calls: readonly (readonly [Asked, Told?])[]): readonly Entry[] =>
  calls.map(([asked, told], i) => ({
    n: i + 1,
    who: "w",
    atMs: i * 10,
    asked,
    ...(told !== undefined && { told, untilMs: i * 10 + 5 }),
  }));

const out = (message: string, sequence: number, redelivered = false): Delivered => ({
  message,
  deliveryId: `${message}-${sequence}`,
  sequence: String(sequence),
  redelivered,
});

const xid = "1.aa.";
const enqueue = (message: string, sequence: number, queue = "q") =>
  [{ call: "enqueue", queue, messages: [message] }, { sequences: [String(sequence)] }] as const;
const enqueueIn = (message: string, queue: string) =>
  [{ call: "enqueue", queue, messages: [message], xid }, { sequences: [""] }] as const;
const acquire = (...deliveries: readonly Delivered[]) => [{ call: "acquire", queue: "q" }, { deliveries }] as const;
const drain = (queue: string, ...deliveries: readonly Delivered[]) =>
  [{ call: "drain", queue }, { deliveries }] as const;
const accept = (message: string, sequence: number, inside?: string) =>
  [
    { call: "accept", deliveries: [out(message, sequence)], ...(inside !== undefined && { xid: inside }) },
    { statuses: ["accepted"] },
  ] as const;
const verb = (call: "prepare" | "commit" | "rollback", xa = "XA_OK") => [{ call, xid }, { xa }] as const;
const outcome = (what: "committed" | "rolled-back" | "unknown") =>
  [{ call: "outcome", xid }, { outcome: what }] as const;
const none: Counts = { available: 0, leased: 0, held: 0, enqueued: 9, settled: 9, changes: 18 };
const stats = (counts: Partial<Counts>, isAtRest = false) =>
  [{ call: "stats", queue: "q", isAtRest }, { stats: { ...none, ...counts } }] as const;
const attach = (epoch: number) => [{ call: "attach", session: { name: "s", epoch: 0 } }, { epoch }] as const;

/** A swap of `a` for `b`, committed: everything that one does right. */
const swap = [
  enqueue("a", 1),
  acquire(out("a", 1)),
  accept("a", 1, xid),
  enqueueIn("b", "r"),
  verb("prepare"),
] as const;

describe("a history in which all is well", () => {
  const good: readonly (readonly [string, readonly Entry[]])[] = [
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

  it.each(good)("%s shows nothing", (_, entries) => {
    expect(check(entries)).toEqual([]);
  });

  it("is the same after it was written and read", () => {
    const [[, entries] = ["", []]] = good;
    expect(fromLines(toLines(entries))).toEqual(entries);
  });
});

describe("a bad history", () => {
  const bad: readonly (readonly [AnomalyName, string, readonly Entry[], readonly number[]])[] = [
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
    [
      "depth that a drain contradicts",
      "more than there is",
      history(stats({ available: 1 }, true), drain("q")),
      [1, 2],
    ],
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

  it.each(bad)("%s: %s", (name, _, entries, slice) => {
    const anomalies = check(entries);
    expect(anomalies.map((anomaly) => anomaly.name)).toContain(name);
    expect(anomalies.find((anomaly) => anomaly.name === name)?.slice.map(({ n }) => n)).toEqual(slice);
  });

  it("shows every anomaly that there is a name for", () => {
    const names: Readonly<Record<AnomalyName, true>> = {
      lost: true,
      invented: true,
      doubled: true,
      reordered: true,
      "torn branch": true,
      "two outcomes": true,
      "prepared, then decided by nobody": true,
      "accept that came back": true,
      "depth that a drain contradicts": true,
      "counter that went back": true,
      "counter that runs behind": true,
      "old epoch that was let through": true,
    };
    expect([...new Set(bad.map(([name]) => name))].toSorted()).toEqual(Object.keys(names).toSorted());
  });
});
