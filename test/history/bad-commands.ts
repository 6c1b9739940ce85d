/** Histories that show an anomaly of a session's commands, or of messages that need not be persisted. */
import type { Bad } from "./bad-histories.ts";
import {
  acceptLater,
  acquire,
  declare,
  drain,
  enqueue,
  history,
  killOfAll,
  later,
  out,
  put,
  read,
  readAtRest,
  sent,
} from "./made.ts";

const isTransient = true;
const strict = declare("q", { strictOrder: true });

export const badCommands: Bad = [
  [
    "command that never completed",
    "it was taken, and at the end nobody tells of it",
    history(later("a", "1"), later("b", "2"), readAtRest("2", put("1", 1)), drain("q", out("a", 1), out("b", 2))),
    [2, 3],
  ],
  [
    "command that completed twice",
    "with two results",
    history(
      later("a", "1"),
      read("0", "1", put("1", 1)),
      readAtRest("1", { id: "1", status: 409, refused: "resource-limit-exceeded" }),
      drain("q", out("a", 1)),
    ),
    [2, 3],
  ],
  [
    "command that completed twice",
    "in one answer",
    history(later("a", "1"), readAtRest("1", put("1", 1), put("1", 1)), drain("q", out("a", 1))),
    [2],
  ],
  [
    "completion that was passed over",
    "a read across what was open",
    history(
      later("a", "1"),
      later("b", "2"),
      read("0", "2", put("2", 1)),
      readAtRest("2", put("1", 2), put("2", 1)),
      drain("q", out("b", 1), out("a", 2)),
    ),
    [3, 4],
  ],
  [
    "command id that was given twice",
    "to two calls",
    history(later("a", "1"), later("b", "1"), readAtRest("1", put("1", 1)), drain("q", out("a", 1), out("b", 2))),
    [1, 2],
  ],
  ["lost", "its command is complete", history(later("a", "1"), readAtRest("1", put("1", 1)), drain("q")), [1, 3]],
  [
    "invented",
    "its command was refused",
    history(later("a", "1"), readAtRest("1", { id: "1", status: 404, refused: "not-found" }), drain("q", out("a", 1))),
    [1, 3],
  ],
  [
    "accept that came back",
    "by a command",
    history(
      enqueue("a", 1),
      acquire(out("a", 1)),
      acceptLater("a", 1, "1"),
      readAtRest("1", { id: "1", status: 200, statuses: ["accepted"] }),
      drain("q", out("a", 1, true)),
    ),
    [3, 5],
  ],
  [
    "reordered",
    "what was sent behind a command stands before it",
    history(later("a", "1"), sent("b", 1), readAtRest("1", put("1", 2)), drain("q", out("b", 1), out("a", 2))),
    [1, 2],
  ],
  [
    "reordered",
    "two that need not be persisted",
    history(sent("a", 2, { isTransient }), sent("b", 1, { isTransient }), drain("q", out("b", 1), out("a", 2))),
    [1, 2],
  ],
  [
    "reordered",
    "both kinds where order is strict",
    history(strict, sent("a", 2, { isTransient }), sent("b", 1), drain("q", out("b", 1), out("a", 2))),
    [2, 3],
  ],
  [
    "lost",
    "it need not be persisted, and nothing was killed",
    history(sent("a", 1, { isTransient }), drain("q")),
    [1, 2],
  ],
  [
    "lost",
    "the queue persists everything, whatever was killed",
    history(declare("q", { messageDurability: "always" }), sent("a", 1, { isTransient }), killOfAll, drain("q")),
    [2, 4],
  ],
  [
    "lost",
    "it was delivered once, and so stored when everything was killed",
    history(sent("a", 1, { isTransient }), acquire(out("a", 1)), killOfAll, drain("q")),
    [1, 4],
  ],
  [
    "doubled",
    "it came by the command queue twice",
    history(sent("a", 1, { isTransient }), drain("q", out("a", 1), out("a", 2))),
    [2],
  ],
];
