import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BindingArguments, sameArguments, standardExchange } from "../../shared/domain/exchange.ts";

describe("a standard exchange", () => {
  it.each([
    ["amq.direct", "direct"],
    ["amq.fanout", "fanout"],
    ["amq.topic", "topic"],
    ["amq.match", "headers"],
  ])("%s is of type %s, and always there", (name, type) => {
    expect(standardExchange(name)).toEqual({
      name,
      generation: "standard",
      type,
      alternateExchange: null,
      bindingsVersion: 0,
    });
  });

  it.each(["amq.headers", "direct", ""])("is not %j", (name) => {
    expect(standardExchange(name)).toBeUndefined();
  });
});

describe("the arguments of two bindings", () => {
  it.each<[BindingArguments, BindingArguments, boolean]>([
    [{}, {}, true],
    [{ a: 1, b: null }, { b: null, a: 1 }, true],
    [{ a: 1 }, {}, false],
    [{}, { a: 1 }, false],
    [{ a: 1 }, { a: "1" }, false],
    [{ a: 1 }, { b: 1 }, false],
    [{ a: 1, b: 2 }, { a: 1, b: 3 }, false],
    [{ a: 1, b: 2 }, { a: 3, b: 2 }, false],
    [{ a: null }, { a: false }, false],
  ])("of %j and %j are the same: %s", (a, b, are) => {
    expect(sameArguments(a, b)).toBe(are);
    expect(sameArguments(b, a)).toBe(are);
  });

  it("may be called as what every object has", () => {
    fc.assert(
      fc.property(fc.constantFrom("toString", "constructor"), fc.string(), (name, value) => {
        const a: BindingArguments = { [name]: value };
        expect(sameArguments(a, { other: value })).toBe(false);
        expect(sameArguments({ other: value }, a)).toBe(false);
        expect(sameArguments(a, { ...a })).toBe(true);
      }),
    );
  });
});
