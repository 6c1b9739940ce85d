import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Binding, BindingArguments } from "../../shared/domain/exchange.ts";
import { routeOf } from "../../shared/domain/routing.ts";

const binding = (queue: string, key: string, given: BindingArguments = {}): Binding => ({
  exchange: "x",
  queue: { name: queue, generation: "g" },
  key,
  arguments: given,
});

const names = (found: ReadonlyMap<string, { readonly name: string }>): string[] =>
  [...found.values()].map(({ name }) => name).toSorted();

/** What the pattern says, word by word; slow and plain. */
const matches = (pattern: readonly string[], words: readonly string[]): boolean => {
  const [head, ...rest] = pattern;
  if (head === undefined) return words.length === 0;
  if (head === "#") return matches(rest, words) || (words.length > 0 && matches(pattern, words.slice(1)));
  return words.length > 0 && (head === "*" || head === words[0]) && matches(rest, words.slice(1));
};

const wordsOf = (key: string): string[] => (key === "" ? [] : key.split("."));

const key = (words: readonly string[]) => fc.array(fc.constantFrom(...words), { maxLength: 5 }).map((w) => w.join("."));

describe("a topic exchange", () => {
  it("routes as the patterns say, each queue once", () => {
    fc.assert(
      fc.property(fc.array(key(["a", "b", "*", "#", ""])), key(["a", "b", "c", ""]), (patterns, routingKey) => {
        const bindings = patterns.map((pattern, i) => binding(`q${i % 3}`, pattern));
        const expected = new Set(
          bindings.filter((one) => matches(wordsOf(one.key), wordsOf(routingKey))).map(({ queue }) => queue.name),
        );
        expect(names(routeOf("topic", bindings)({ routingKey, headers: {} }))).toEqual([...expected].toSorted());
      }),
      { seed: 1, numRuns: 1000 },
    );
  });

  it("is not lost in keys of many words and patterns of many #", () => {
    const route = routeOf("topic", [binding("q", Array.from({ length: 60 }, () => "#.a").join("."))]);
    const words = Array.from({ length: 120 }, () => "a");
    expect(names(route({ routingKey: words.join("."), headers: {} }))).toEqual(["q"]);
    expect(names(route({ routingKey: [...words, "b"].join("."), headers: {} }))).toEqual([]);
  });
});

describe("a headers exchange", () => {
  const value = fc.constantFrom<string | number | boolean>("1", 1, true, false, "");
  const headers = fc.dictionary(fc.constantFrom("a", "b", "__proto__", "toString"), value);

  it("asks for all of the arguments, or any; null only that the header is there", () => {
    const given = fc.dictionary(fc.constantFrom("a", "b", "x-other", "toString"), fc.option(value));
    fc.assert(
      fc.property(headers, given, fc.constantFrom("all", "any", undefined), (brought, wanted, match) => {
        const terms = Object.entries(wanted).filter(([name]) => !name.startsWith("x-"));
        const isThere = ([name, one]: (typeof terms)[number]) =>
          Object.keys(brought).includes(name) && (one === null || brought[name] === one);
        const expected = match === "any" ? terms.some(isThere) : terms.every(isThere);
        const route = routeOf("headers", [binding("q", "", { ...wanted, ...(match && { "x-match": match }) })]);
        expect(names(route({ routingKey: "", headers: brought }))).toEqual(expected ? ["q"] : []);
      }),
      { seed: 1, numRuns: 1000 },
    );
  });
});

describe("a direct and a fanout exchange", () => {
  const bindings = [binding("q", "k"), binding("r", "k"), binding("q", "l"), binding("q", "")];

  it("by the whole key", () => {
    const route = routeOf("direct", bindings);
    expect(["k", "l", "", "K", "k."].map((routingKey) => names(route({ routingKey, headers: {} })))).toEqual([
      ["q", "r"],
      ["q"],
      ["q"],
      [],
      [],
    ]);
  });

  it("to all", () => {
    expect(names(routeOf("fanout", bindings)({ routingKey: "any", headers: {} }))).toEqual(["q", "r"]);
  });

  it("tell two lives of a queue apart", () => {
    const older = { ...binding("q", "k"), queue: { name: "q", generation: "older" } };
    expect(routeOf("direct", [older, binding("q", "k")])({ routingKey: "k", headers: {} }).size).toBe(2);
  });
});

describe("a thousand bindings", () => {
  const bindings = Array.from({ length: 1000 }, (_, i) =>
    binding(`q${i}`, `region.${i % 10}.*.kind${i % 7}.#`, { region: i % 10, kind: `kind${i % 7}`, number: i }),
  );

  it.each(["direct", "fanout", "topic", "headers"] as const)("of a %s exchange: a message in under 1 ms", (type) => {
    const route = routeOf(type, bindings);
    const messages = Array.from({ length: 500 }, (_, i) => ({
      routingKey: `region.${i % 10}.here.kind${i % 7}.more.words`,
      headers: { region: i % 10, kind: `kind${i % 7}`, number: i },
    }));
    for (const message of messages) route(message);
    // The fastest of some rounds: the machine may be busy with others.
    const rounds = Array.from({ length: 5 }, () => {
      const begin = performance.now();
      for (const message of messages) route(message);
      return (performance.now() - begin) / messages.length;
    });
    expect(Math.min(...rounds)).toBeLessThan(1);
  });
});
