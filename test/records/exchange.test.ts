import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Exchange } from "../../shared/domain/exchange.ts";
import { defaultSettings, type Queue } from "../../shared/domain/queue.ts";
import {
  alternatesOf,
  countUnroutable,
  createExchange,
  deleteExchange,
  forgetBinding,
  putBinding,
  readBinding,
  readExchange,
  readQueueBinding,
  removeBinding,
  type StoredBinding,
  unroutableOf,
} from "../../shared/records/exchange.ts";
import { Unreadable } from "../../shared/records/reading.ts";
import type { Item, Write } from "../../shared/records/write.ts";
import { names, tokens } from "../support/arbitraries.ts";
import { stored } from "./stored.ts";

const exchange: Exchange = {
  name: "x",
  generation: "gx",
  type: "topic",
  alternateExchange: null,
  bindingsVersion: 3,
};
const other: Exchange = { ...exchange, name: "y", generation: "gy" };
const standard: Exchange = { ...exchange, name: "amq.topic", generation: "standard" };
const queue: Queue = { settings: defaultSettings, name: "q", generation: "gq" };
const otherwise = "reload";
const settings = { pk: "EXCHANGE#x", sk: "SETTINGS" };
const life = (value: string) => ({ is: "equal", path: ["g"], value });
const countOther = (by: number) => ({
  kind: "update",
  key: { pk: "EXCHANGE#y", sk: "SETTINGS" },
  change: { add: [[["n"], by]] },
  require: [life("gy")],
  otherwise,
});

const itemOf = (write: Write | undefined): Item => (write?.kind === "put" ? stored(write.key, write.item) : {});

const exchanges: fc.Arbitrary<Exchange> = fc.record({
  name: names,
  generation: tokens,
  type: fc.constantFrom("direct", "fanout", "topic", "headers"),
  alternateExchange: fc.option(names),
  bindingsVersion: fc.nat(),
});

describe("an exchange's record", () => {
  it("is put where none is, with what it is named by and by whom", () => {
    expect(createExchange(exchange, undefined, 9)).toEqual([
      {
        kind: "put",
        key: settings,
        item: { g: "gx", t: "topic", b: 3, n: 0, c: 9 },
        require: [{ is: "absent" }],
        otherwise,
      },
    ]);
  });

  it("reads back as it was made", () => {
    fc.assert(
      fc.property(exchanges, (made) => {
        expect(readExchange(made.name, itemOf(createExchange(made, undefined, 9)[0]))).toEqual(made);
      }),
    );
  });

  it("counts at its alternate, unless that is a standard exchange", () => {
    expect(createExchange(exchange, other, 9).slice(1)).toEqual([countOther(1)]);
    expect(createExchange(exchange, standard, 9)).toHaveLength(1);
    expect(deleteExchange(exchange, other).slice(1)).toEqual([countOther(-1)]);
    expect(deleteExchange(exchange, standard)).toHaveLength(1);
  });

  it("goes in its own life, while it is nobody's alternate", () => {
    expect(deleteExchange(exchange, undefined)).toEqual([
      {
        kind: "delete",
        key: settings,
        require: [life("gx"), { is: "equal", path: ["n"], value: 0 }],
        otherwise,
      },
    ]);
  });

  it("counts what reached no queue", () => {
    expect(countUnroutable("x", 4)).toEqual({
      kind: "update",
      key: settings,
      change: { add: [[["u"], 4]] },
      require: [{ is: "present" }],
      otherwise,
    });
  });

  it("says how often it is an alternate, and how many messages reached no queue", () => {
    expect([{}, { n: 2, u: 3 }].map(alternatesOf)).toEqual([0, 2]);
    expect([{}, { n: 2, u: 3 }].map(unroutableOf)).toEqual([0, 3]);
  });

  it.each<[string, Item]>([
    ["is of no known type", { t: "queue" }],
    ["g is not a string", { g: undefined }],
    ["a is not a string", { a: 1 }],
    ["b is not an integer", { b: undefined }],
  ])("is unreadable when it %s", (problem, wrong) => {
    const item = { ...settings, g: "g", t: "direct", b: 0, ...wrong };
    expect(() => readExchange("x", item)).toThrow(new Unreadable(settings, problem));
  });
});

describe("a binding's records", () => {
  const binding: StoredBinding = {
    exchange: "x",
    key: "a.#",
    queue: { name: "q", generation: "gq" },
    arguments: { h: "1" },
    generation: "gx",
  };
  const key = { pk: "EXCHANGE#x", sk: "BINDING#a.##q" };
  const queueKey = { pk: "QUEUE#q", sk: "BINDING#x#a.#" };
  const counted = { kind: "update", key: settings, change: { add: [[["b"], 1]] }, require: [life("gx")], otherwise };
  const asRead = [life("gx"), { is: "equal", path: ["q"], value: "gq" }];

  it("are made of a live exchange and a live queue, where there is none", () => {
    expect(putBinding(exchange, queue, "a.#", { h: "1" }, undefined)).toEqual([
      counted,
      { kind: "check", key: { pk: "QUEUE#q", sk: "SETTINGS" }, require: [life("gq")], otherwise },
      {
        kind: "put",
        key,
        item: { g: "gx", q: "gq", a: '{"h":"1"}' },
        require: [{ is: "absent" }],
        otherwise,
      },
      { kind: "put", key: queueKey, item: { g: "gx", q: "gq" }, require: [], otherwise },
    ]);
  });

  it("are made in the place of one of an older life, as it was read", () => {
    const before = { ...binding, generation: "old", queue: { name: "q", generation: "older" } };
    expect(putBinding(exchange, queue, "a.#", {}, before)[2]?.require).toEqual([
      life("old"),
      { is: "equal", path: ["q"], value: "older" },
    ]);
  });

  it("go together; a binding of what is gone changes no exchange", () => {
    const gone = [
      { kind: "delete", key, require: asRead, otherwise },
      { kind: "delete", key: queueKey, require: [], otherwise },
    ];
    expect(forgetBinding(binding)).toEqual(gone);
    expect(removeBinding(exchange, binding)).toEqual([counted, ...gone]);
  });

  it("read back, whatever the key is", () => {
    const given = fc.dictionary(tokens, fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)));
    const keys = fc.oneof(fc.string(), fc.constantFrom("", "#", "a.#", "#.#", "*#"));
    fc.assert(
      fc.property(exchanges, names, tokens, keys, given, (of, name, generation, bound, args) => {
        const [, , one, two] = putBinding(of, { ...queue, name, generation }, bound, args, undefined);
        const rest = { exchange: of.name, key: bound, queue: { name, generation }, generation: of.generation };
        expect(readBinding(of.name, itemOf(one))).toEqual({ ...rest, arguments: JSON.parse(JSON.stringify(args)) });
        expect(readQueueBinding(name, itemOf(two))).toEqual({ ...rest, arguments: {} });
      }),
    );
  });

  it.each(["SETTINGS", "BINDING#q", "xBINDING#k#q", "ENDING##k#q"])("are none at %s, with its exchange", (sk) => {
    const at = { pk: "EXCHANGE#x", sk };
    expect(() => readBinding("x", { ...at, g: "g", q: "g", a: "{}" })).toThrow(new Unreadable(at, "is not a binding"));
  });

  it.each(["SETTINGS", "BINDING#x", "xBINDING#x#k", "ENDING##x#k"])("are none at %s, with its queue", (sk) => {
    const at = { pk: "QUEUE#q", sk };
    expect(() => readQueueBinding("q", { ...at, g: "g", q: "g" })).toThrow(
      new Unreadable(at, "is not a queue's binding"),
    );
  });

  it.each<[string, Item]>([
    ["g is not a string", { g: 1 }],
    ["q is not a string", { q: 1 }],
    ["a is not a string", { a: 1 }],
  ])("are unreadable when %s", (problem, wrong) => {
    expect(() => readBinding("x", { ...key, g: "g", q: "g", a: "{}", ...wrong })).toThrow(new Unreadable(key, problem));
  });
});
