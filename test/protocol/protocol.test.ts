import { describe, expect, it } from "vitest";
import { Protocol } from "./actors.ts";
import { explore } from "./explore.ts";
import { asBuilt } from "./rules.ts";
import { rareSlices, seeded, slice } from "./scopes.ts";

describe("the protocol, as a model", () => {
  it("holds every invariant in every state of the slice", () => {
    const { states, steps, worlds, depth, broken } = explore(new Protocol(slice));
    process.stdout.write(`protocol model: ${states} states of ${worlds} tables, ${steps} steps, ${depth} deep\n`);
    expect(broken).toBeUndefined();
    // A walk that got stuck at its beginning would hold everything.
    expect(states).toBeGreaterThan(10_000);
  }, 300_000);

  it.each(Object.entries(rareSlices))(
    "holds every invariant in every state in which %s",
    (_, scope) => {
      const { states, broken } = explore(new Protocol(scope));
      expect(broken).toBeUndefined();
      expect(states).toBeGreaterThan(1000);
    },
    300_000,
  );

  it("leaves out every rule of the protocol once", () => {
    expect(seeded.map(({ rule }) => rule).toSorted()).toEqual(Object.keys(asBuilt).toSorted());
  });

  for (const { rule, scope, breaks } of seeded) {
    it(`breaks without ${rule}`, () => {
      const { broken } = explore(new Protocol({ ...scope, rules: { ...asBuilt, [rule]: false } }), 2_000_000);
      expect(broken?.invariant).toMatch(breaks);
      // A shortest way there is one that a person can follow.
      expect(broken?.trace.length).toBeLessThan(12);
    }, 300_000);
  }
});
