import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Audience, Request } from "../../shared/domain/command.ts";
import { REMEMBERED_SECONDS, SESSION_REMEMBERED_SECONDS } from "../../shared/domain/limits.ts";
import type { Payload, SettleOutcome } from "../../shared/domain/run.ts";
import type { Session } from "../../shared/domain/session.ts";
import {
  closeCommand,
  listSession,
  noteAnswer,
  noteOutcomes,
  putApplied,
  putCommand,
  putCompletion,
  readCommand,
  readCompletion,
  type StoredCommand,
  unlistSession,
  withdrawCommand,
} from "../../shared/records/command.ts";
import { appliedKey, commandKey, commandListKey, completionKey } from "../../shared/records/keys.ts";
import { Unreadable } from "../../shared/records/reading.ts";
import { countCommand, unlist } from "../../shared/records/session.ts";
import type { Item } from "../../shared/records/write.ts";
import { epochs, names, times, tokens } from "../support/arbitraries.ts";
import { plain, stored } from "./stored.ts";

const ids = fc.integer({ min: 1, max: 999_999_999_999_999 });
const kinds: readonly Request["kind"][] = [
  "enqueue",
  "publish",
  "settle",
  "declare-queue",
  "delete-queue",
  "declare-exchange",
  "delete-exchange",
  "bind",
  "unbind",
];
const audiences: readonly Audience[] = ["session", "call", "nobody"];

const payloads: fc.Arbitrary<Payload> = fc.oneof(
  fc.record({ kind: fc.constant("inline" as const), bytes: fc.uint8Array({ minLength: 1, maxLength: 50 }) }),
  fc.record({ kind: fc.constant("chunks" as const), owner: tokens, firsts: fc.array(fc.nat(500), { minLength: 1 }) }),
);

const commands: fc.Arbitrary<Omit<StoredCommand, "progress">> = fc.record({
  session: names,
  epoch: epochs,
  id: ids,
  audience: fc.constantFrom(...audiences),
  kind: fc.constantFrom(...kinds),
  lanes: fc.record({
    queues: fc.array(names, { maxLength: 4 }),
    names: fc.array(names, { maxLength: 2 }),
    routes: fc.array(names, { maxLength: 2 }),
    changes: fc.array(names, { maxLength: 2 }),
  }),
  payload: payloads,
});

const asStored = (command: Omit<StoredCommand, "progress">, more: Item = {}): Item => {
  const write = putCommand(command);
  return write.kind === "put" ? stored(write.key, { ...write.item, ...more }) : {};
};

describe("a command's record", () => {
  it("reads back as the command that was stored, with nothing done of it", () => {
    fc.assert(
      fc.property(commands, (command) => {
        const progress = command.kind === "settle" ? { outcomes: {} } : {};
        expect(plain(readCommand(asStored(command)))).toEqual(plain({ ...command, progress }));
      }),
    );
  });

  it("that says less of what it touches touches nothing more", () => {
    fc.assert(
      fc.property(commands, (command) => {
        const read = readCommand(asStored(command, { l: JSON.stringify([command.lanes.queues]) }));
        expect(read.lanes).toEqual({ queues: command.lanes.queues, names: [], routes: [], changes: [] });
        expect(readCommand(asStored(command, { l: "[]" })).lanes.queues).toEqual([]);
      }),
    );
  });

  it("is put where nothing is, at its session's next number", () => {
    fc.assert(
      fc.property(commands, (command) => {
        expect(putCommand(command)).toMatchObject({
          kind: "put",
          key: commandKey(command.session, command.id),
          require: [{ is: "absent" }],
          otherwise: "reload",
        });
      }),
    );
  });

  it("sorts by its number", () => {
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        const [first, second] = [commandKey("s", a).sk, commandKey("s", b).sk];
        expect(first < second).toBe(a < b);
      }),
    );
  });

  const one = { session: "s", id: 7 } as const;
  const key = { pk: "SESSION#s", sk: "COMMAND#00000000000000000007" };

  it("goes once, and only while it is there", () => {
    const close = { kind: "delete", key, otherwise: "reload" };
    expect(closeCommand(one, true)).toEqual({ ...close, require: [{ is: "present" }] });
    expect(closeCommand(one, false)).toEqual({ ...close, require: [{ is: "present" }, { is: "lacks", path: ["a"] }] });
  });

  it("is given up only while nothing has come of it", () => {
    const require = [{ is: "present" }, { is: "lacks", path: ["a"] }];
    expect(withdrawCommand(one)).toEqual({ kind: "delete", key, require, otherwise: "reload" });
  });

  it("notes the answer of an enqueue once, with the branch that applies it", () => {
    const require = [{ is: "present" }, { is: "lacks", path: ["a"] }];
    const bytes = Uint8Array.of(1, 2);
    expect(noteAnswer(one, bytes, undefined)).toEqual({
      kind: "update",
      key,
      change: { set: [[["a"], bytes]] },
      require,
      otherwise: "reload",
    });
    expect(noteAnswer(one, bytes, "1.aa.")).toMatchObject({
      change: {
        set: [
          [["a"], bytes],
          [["x"], "1.aa."],
        ],
      },
      require,
    });
  });

  it("notes the outcomes of each run once, and reads them back", () => {
    const outcomes: readonly SettleOutcome[] = ["ok", "lease-lost", "locked", "not-found"];
    expect(noteOutcomes(one, "3", outcomes)).toEqual({
      kind: "update",
      key,
      change: { set: [[["o", "3"], "ok,lease-lost,locked,not-found"]] },
      require: [{ is: "present" }, { is: "lacks", path: ["o", "3"] }],
      otherwise: "reload",
    });
    fc.assert(
      fc.property(commands, (command) => {
        const more = { a: Uint8Array.of(9), x: "1.aa.", o: { 0: "ok", 3: outcomes.join(",") } };
        expect(plain(readCommand(asStored(command, more)).progress)).toEqual({
          answer: [9],
          branch: "1.aa.",
          outcomes: { 0: ["ok"], 3: outcomes },
        });
      }),
    );
  });

  it.each([
    ["an audience that there is not", { au: "all" }, "au is all"],
    ["no lanes", { l: 1 }, "l is not a string"],
    ["an epoch that is no number", { ep: "1" }, "ep is not an integer"],
    ["no kind", { k: 1 }, "k is not a string"],
  ])("with %s cannot be read", (_, wrong, problem) => {
    const command = {
      session: "s",
      epoch: 1,
      id: 1,
      audience: "session",
      kind: "enqueue",
      lanes: { queues: [], names: [], routes: [], changes: [] },
      payload: { kind: "inline", bytes: new Uint8Array(1) },
    } as const;
    const read = () => readCommand(asStored(command, wrong));
    expect(read).toThrow(Unreadable);
    expect(read).toThrow(problem);
  });
});

describe("a completion's record", () => {
  it("reads back, and lasts as long as somebody may ask: a day, or as long as a dead session", () => {
    fc.assert(
      fc.property(names, ids, fc.constantFrom(...audiences), times, (session, id, audience, nowMs) => {
        const write = putCompletion({ session, id, audience }, Uint8Array.of(1, 2, 3), nowMs);
        expect(write).toMatchObject({ kind: "put", key: completionKey(session, id), require: [], otherwise: "reload" });
        const item = write.kind === "put" ? stored(write.key, write.item) : {};
        expect(plain(readCompletion(item))).toEqual({
          id,
          outcome: [1, 2, 3],
          isForOneCall: audience === "call",
        });
        expect("c" in item).toBe(audience === "call");
        const seconds = audience === "call" ? REMEMBERED_SECONDS : SESSION_REMEMBERED_SECONDS;
        expect(item.until).toBe(nowMs + seconds * 1000);
        expect(item.ttl).toBe(Math.floor(nowMs / 1000) + seconds);
      }),
    );
  });
});

describe("the list of sessions with commands", () => {
  const session: Session = {
    name: "s",
    version: 3,
    epoch: 2,
    state: "attached",
    timeoutSeconds: 60,
    expiresAtMs: 99,
    detachedEpochs: [],
    commands: 0,
    completedThrough: 0,
    isListed: false,
  };
  const state = { pk: "SESSION#s", sk: "STATE" };
  const alive = [
    { is: "equal", path: ["ep"], value: 2 },
    { is: "equal", path: ["st"], value: "attached" },
    { is: "more-than", path: ["x"], value: 50 },
  ];

  it("has the session once, without any condition", () => {
    const key = commandListKey("s");
    expect(listSession("s")).toEqual({ kind: "put", key, item: {}, require: [], otherwise: "reload" });
    expect(unlistSession("s")).toEqual({ kind: "delete", key, require: [], otherwise: "reload" });
    expect(key).toEqual({ pk: expect.stringMatching(/^COMMANDS#\d\d$/), sk: "s" });
  });

  it("takes a first command of a session that lives", () => {
    expect(countCommand(session, 50)).toEqual({
      kind: "update",
      key: state,
      change: {
        set: [
          [["nc"], 1],
          [["cl"], true],
        ],
      },
      require: [...alive, { is: "lacks", path: ["nc"] }],
      otherwise: "reload",
    });
  });

  it("takes a further command after the one that is known, and while the session stands there if it is thought to", () => {
    const listed = { is: "equal", path: ["cl"], value: true };
    const next = { is: "equal", path: ["nc"], value: 4 };
    expect(countCommand({ ...session, commands: 4, isListed: true }, 50).require).toEqual([...alive, listed, next]);
    expect(countCommand({ ...session, commands: 4 }, 50)).toMatchObject({
      change: {
        set: [
          [["nc"], 5],
          [["cl"], true],
        ],
      },
      require: [...alive, next],
    });
  });

  it("lets a session go when nothing was stored meanwhile, and notes that nothing is open", () => {
    expect(unlist({ ...session, commands: 4 })).toEqual({
      kind: "update",
      key: state,
      change: { set: [[["dt"], 4]], remove: [["cl"]] },
      require: [{ is: "equal", path: ["nc"], value: 4 }],
      otherwise: "reload",
    });
  });
});

describe("the mark of what was applied", () => {
  it("is put once in the time for which the command queue may deliver again", () => {
    expect(putApplied("id", 5_500)).toEqual({
      kind: "put",
      key: appliedKey("id"),
      item: { until: 5_500 + REMEMBERED_SECONDS * 1000, ttl: 5 + REMEMBERED_SECONDS },
      require: [{ is: "absent-or-over", nowMs: 5_500 }],
      otherwise: "reload",
    });
    expect(appliedKey("id")).toEqual({ pk: "APPLIED#id", sk: "APPLIED" });
  });
});
