import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SESSION_REMEMBERED_SECONDS } from "../../shared/domain/limits.ts";
import type { Session } from "../../shared/domain/session.ts";
import { Unreadable } from "../../shared/records/reading.ts";
import { checkSession, readSession, writeSession } from "../../shared/records/session.ts";
import type { Item } from "../../shared/records/write.ts";
import { epochs, names, times } from "../support/arbitraries.ts";
import { stored } from "./stored.ts";

const sessions: fc.Arbitrary<Session> = fc.record({
  name: names,
  version: fc.nat(),
  epoch: epochs,
  state: fc.constantFrom("attached", "detached", "expired"),
  timeoutSeconds: fc.integer({ min: 1, max: 86_400 }),
  expiresAtMs: times,
  detachedEpochs: fc.array(fc.tuple(epochs, epochs), { maxLength: 100 }),
  commands: fc.nat(),
  completedThrough: fc.nat(),
  isListed: fc.boolean(),
});

const asStored = (session: Session): Item => {
  const write = writeSession(undefined, session);
  return write.kind === "put" ? stored(write.key, write.item) : {};
};

describe("a session's record", () => {
  it("reads back as the session that was written", () => {
    fc.assert(
      fc.property(sessions, (session) => {
        expect(readSession(session.name, asStored(session))).toEqual(session);
      }),
    );
  });

  it("is forgotten by the table only when it has been dead for the time that epochs are remembered", () => {
    fc.assert(
      fc.property(sessions, (session) => {
        const { ttl } = asStored(session);
        const overSeconds = session.expiresAtMs / 1000 + SESSION_REMEMBERED_SECONDS;
        if (session.state === "attached") expect(ttl).toBeUndefined();
        else expect(ttl).toBe(Math.ceil(overSeconds));
      }),
    );
  });

  it("is written over nothing, or over the version that was read", () => {
    fc.assert(
      fc.property(sessions, (session) => {
        const common = { key: { pk: `SESSION#${session.name}`, sk: "STATE" }, otherwise: "reload" };
        expect(writeSession(undefined, session)).toMatchObject({
          ...common,
          kind: "put",
          require: [{ is: "absent" }],
        });
        expect(writeSession(session, session)).toMatchObject({
          ...common,
          kind: "update",
          require: [{ is: "version", version: session.version }],
        });
        expect("det" in asStored(session)).toBe(session.detachedEpochs.length > 0);
      }),
    );
  });

  it("is changed in what its epoch is; its commands are left as they are", () => {
    const before: Session = {
      name: "s",
      version: 3,
      epoch: 2,
      state: "detached",
      timeoutSeconds: 60,
      expiresAtMs: 5_001,
      detachedEpochs: [[1, 2]],
      commands: 4,
      completedThrough: 3,
      isListed: true,
    };
    const set = (state: string) => [
      [["v"], 3],
      [["ep"], 2],
      [["st"], state],
      [["to"], 60],
      [["x"], 5_001],
      [["det"], "[[1,2]]"],
    ];
    const dead = writeSession(before, before);
    expect(dead.kind === "update" && dead.change).toStrictEqual({
      set: [...set("detached"), [["ttl"], 6 + SESSION_REMEMBERED_SECONDS]],
    });
    const alive = writeSession(before, { ...before, state: "attached" });
    expect(alive.kind === "update" && alive.change).toStrictEqual({ set: set("attached"), remove: [["ttl"]] });
  });

  it("says nothing of commands and detached epochs that there are not", () => {
    const [some] = fc.sample(sessions, { numRuns: 1, seed: 1 });
    if (some === undefined) throw new Error("the arbitrary gives a session");
    const none = { commands: 0, completedThrough: 0, isListed: false, detachedEpochs: [], state: "attached" } as const;
    const item = asStored({ ...some, ...none });
    expect(Object.keys(item).sort()).toEqual(["ep", "pk", "sk", "st", "to", "v", "x"]);
    expect(readSession(some.name, item)).toEqual({ ...some, ...none });
  });

  it("begins with no more than there is of commands", () => {
    fc.assert(
      fc.property(sessions, (session) => {
        const item = asStored(session);
        expect(["nc", "dt", "cl"].map((attribute) => attribute in item)).toEqual([
          session.commands > 0,
          session.completedThrough > 0,
          session.isListed,
        ]);
      }),
    );
  });

  it("is checked for its epoch, its state and its time at once", () => {
    const check = checkSession({ name: "s", epoch: 3 }, 1000);
    expect(check).toMatchObject({ kind: "check", key: { pk: "SESSION#s", sk: "STATE" }, otherwise: "reload" });
    expect(check.require).toEqual([
      { is: "equal", path: ["ep"], value: 3 },
      { is: "equal", path: ["st"], value: "attached" },
      { is: "more-than", path: ["x"], value: 1000 },
    ]);
  });

  it.each<[string, Item]>([
    ["no version", { v: undefined }],
    ["no epoch", { ep: undefined }],
    ["an epoch that is no integer", { ep: 1.5 }],
    ["a state that nobody knows", { st: "asleep" }],
    ["no expiry", { x: undefined }],
    ["no timeout", { to: "300" }],
    ["detached epochs that are no JSON", { det: "[" }],
  ])("with %s is unreadable", (_, broken) => {
    const good: Item = { pk: "SESSION#s", sk: "STATE", v: 1, ep: 1, st: "attached", to: 300, x: 1000 };
    expect(readSession("s", good).epoch).toBe(1);
    expect(() => readSession("s", { ...good, ...broken })).toThrow(Unreadable);
  });

  it("says which state it does not know", () => {
    const asleep: Item = { pk: "SESSION#s", sk: "STATE", v: 1, ep: 1, st: "asleep", to: 300, x: 1000 };
    expect(() => readSession("s", asleep)).toThrow("record SESSION#s STATE: st is asleep");
  });
});
