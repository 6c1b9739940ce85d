import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COUNTER_MAX } from "../../shared/domain/counter.ts";
import {
  changesSince,
  type Identified,
  identify,
  type StoreStatus,
  standingState,
} from "../../shared/domain/store-status.ts";
import { candidates, manyCandidates, member, shutDown, status } from "./store-statuses.ts";

const choose = (statuses: Readonly<Record<string, StoreStatus>>): Identified => identify(candidates(statuses));
const far = COUNTER_MAX - 4n;

describe("worked cases", () => {
  it("most changes since the same change of the cluster", () => {
    expect(choose({ a: member(5n, 10n, 40n), b: member(5n, 35n, 50n), c: member(4n, 0n, 9999n) })).toEqual({
      outcome: "best",
      best: "a",
      verdicts: ["best", "fewer changes", "older configuration"],
    });
  });

  it("counted over the wrap", () => {
    const a = member(5n, far, 10n);
    expect(changesSince(a)).toBe(15n);
    expect(choose({ a, b: member(5n, 100n, 110n) })).toMatchObject({ outcome: "best", best: "a" });
  });

  it("a later change of the cluster, however much the other one counted", () => {
    expect(choose({ b: member(6n, 0n, 1_000_000_000n), a: member(7n, 3n, 3n) })).toMatchObject({
      outcome: "best",
      best: "a",
    });
  });
});

describe("rule 1: no comparison", () => {
  it("between clusters", () => {
    const other = { clusterId: "d" };
    expect(choose({ b: member(5n, 0n, 1n), c: member(9n, 0n, 9n, other), a: member(4n, 0n, 1n), e: status() })).toEqual(
      {
        outcome: "not-comparable",
        because: "clusters",
        groups: [["a", "b"], ["c"]],
        verdicts: ["not comparable", "not comparable", "not comparable", "never in a cluster"],
      },
    );
  });

  it("between two sides that went on alone", () => {
    const stores = {
      a: member(5n, 0n, 1n, { configId: "x" }),
      b: member(5n, 0n, 90n, { configId: "y" }),
      c: member(5n, 0n, 2n, { configId: "x" }),
      d: status({ state: "empty" }),
    };
    expect(choose(stores)).toEqual({
      outcome: "not-comparable",
      because: "split",
      groups: [["a", "c"], ["b"]],
      verdicts: ["not comparable", "not comparable", "not comparable", "empty"],
    });
  });

  it("between two sides that went on alone, although a third went further: one of them is no part of its past", () => {
    const sides = { a: member(5n, 0n, 1n, { configId: "x" }), b: member(5n, 0n, 1n, { configId: "y" }) };
    expect(choose({ ...sides, c: member(6n, 0n, 0n) })).toMatchObject({
      because: "split",
      groups: [["a"], ["b"], ["c"]],
    });
  });

  it("between an id and none", () => {
    expect(choose({ a: member(5n, 0n, 1n, { configId: null }), b: member(5n, 0n, 1n) })).toMatchObject({
      because: "split",
    });
  });

  it("around the circle", () => {
    const stores = { a: member(0n, 0n, 0n), b: member(3n << 61n, 0n, 0n), c: member(6n << 61n, 0n, 0n) };
    expect(choose(stores)).toMatchObject({
      outcome: "not-comparable",
      because: "circle",
      groups: [["a"], ["b"], ["c"]],
    });
  });
});

describe("the changes since a change of the cluster", () => {
  it("are none where there never was one", () => {
    expect(changesSince(status({ changeCounter: 9n }))).toBeNull();
    expect(changesSince(member(5n, 0n, 0n))).toBe(0n);
  });
});

describe("groups of stores", () => {
  it("are sorted name by name, whatever order they come in", () => {
    const [ab, a, c] = [member(5n, 0n, 1n, { clusterId: "d" }), member(5n, 0n, 1n), member(5n, 0n, 1n)];
    const groups = [["a", "c"], ["ab"]];
    expect(choose({ ab, a, c })).toMatchObject({ groups });
    expect(choose({ a, c, ab })).toMatchObject({ groups });
  });
});

describe("rule 2: the latest change of the cluster", () => {
  it("is compared as a serial number", () => {
    expect(choose({ a: member(COUNTER_MAX, 0n, 900n), b: member(0n, 5n, 5n) })).toMatchObject({ best: "b" });
    expect(choose({ a: member(2n, 0n, 0n), b: member(far, 0n, 900n) })).toMatchObject({ best: "a" });
  });

  it("of 0 is an ordinary one", () => {
    expect(choose({ a: member(0n, 0n, 1n), b: member(1n, 0n, 0n) })).toMatchObject({ best: "b" });
    expect(choose({ a: status({ changeCounter: 99n }), b: member(0n, 0n, 0n) })).toMatchObject({ best: "b" });
  });
});

describe("rule 3: the most changes since", () => {
  it("is unsigned: the whole range but one is more than 1", () => {
    expect(choose({ a: member(5n, 1n, 0n), b: member(5n, 0n, 1n) })).toMatchObject({ best: "a" });
    expect(changesSince(member(5n, 1n, 0n))).toBe(COUNTER_MAX);
  });
});

describe("rule 4: a tie", () => {
  it("names all, the first by id", () => {
    const stores = { c: member(5n, 10n, 12n), a: member(5n, 0n, 2n), b: member(5n, 0n, 1n) };
    expect(choose(stores)).toEqual({
      outcome: "equal",
      best: "a",
      equal: ["a", "c"],
      verdicts: ["equal", "best", "fewer changes"],
    });
  });

  it("of a store with itself is none", () => {
    const twice = [...candidates({ a: member(5n, 0n, 2n) }), ...candidates({ a: member(5n, 0n, 2n) })];
    expect(identify(twice)).toEqual({ outcome: "best", best: "a", verdicts: ["best", "best"] });
  });
});

describe("rule 5: never in a cluster", () => {
  it("loses to every one that was", () => {
    const stores = { a: status({ changeCounter: 10n ** 9n }), b: member(1n, 0n, 0n), c: status({ state: "empty" }) };
    expect(choose(stores)).toEqual({ outcome: "best", best: "b", verdicts: ["never in a cluster", "best", "empty"] });
  });

  it("alone is the best one", () => {
    for (const of of [status(), status({ state: "empty" }), member(5n, 0n, 1n), shutDown("S", status())]) {
      expect(choose({ a: of })).toEqual({ outcome: "best", best: "a", verdicts: ["best"] });
    }
  });

  it("wins over empty ones", () => {
    expect(choose({ a: status({ state: "empty" }), b: status() })).toEqual({
      outcome: "best",
      best: "b",
      verdicts: ["empty", "best"],
    });
  });

  it("and empty are equal", () => {
    const empty = status({ state: "empty" });
    expect(choose({ b: empty, a: empty })).toMatchObject({ outcome: "equal", best: "a", equal: ["a", "b"] });
  });

  it("cannot be compared with another, even of the same counter", () => {
    const stores = { b: status(), a: status(), e: status({ state: "empty" }) };
    expect(choose(stores)).toEqual({
      outcome: "not-comparable",
      because: "no-cluster",
      groups: [["a"], ["b"]],
      verdicts: ["not comparable", "not comparable", "empty"],
    });
  });
});

describe("a store that was read twice", () => {
  it("is one, as long as its counter stayed", () => {
    const [a] = candidates({ a: status({ changeCounter: 5n }) });
    const [later] = candidates({ a: status({ changeCounter: 6n }) });
    const [clean] = candidates({ a: shutDown("S", status({ changeCounter: 5n })) });
    const [other] = candidates({ b: shutDown("S", status({ changeCounter: 9n })) });
    if (!a || !later || !clean || !other) throw new Error("no candidates");
    expect(identify([a, clean])).toEqual({ outcome: "best", best: "a", verdicts: ["best", "best"] });
    expect(identify([a, later])).toMatchObject({ because: "no-cluster", groups: [["a"], ["a"]] });
    for (const order of [
      [a, clean, other],
      [other, a, clean],
      [a, other, clean],
    ])
      expect(identify(order)).toMatchObject({ outcome: "equal", best: "a", equal: ["a", "b"] });
  });

  it("is not told by having no id", () => {
    const unnamed = (name: string) => ({ name, status: status({ storeId: null }) });
    expect(identify([unnamed("x"), unnamed("y")])).toMatchObject({ because: "no-cluster", groups: [["x"], ["y"]] });
  });
});

describe("an orderly shutdown", () => {
  it("makes those that have it equal, by definition", () => {
    const stores = { a: shutDown("S", status({ changeCounter: 3n })), b: shutDown("S", status({ changeCounter: 5n })) };
    expect(choose(stores)).toMatchObject({ outcome: "equal", equal: ["a", "b"] });
    const members = {
      a: shutDown("S", member(5n, 10n, 40n)),
      b: shutDown("S", member(4n, 0n, 1n)),
      c: member(5n, 15n, 40n),
    };
    expect(choose(members)).toEqual({
      outcome: "equal",
      best: "a",
      equal: ["a", "b"],
      verdicts: ["best", "equal", "fewer changes"],
    });
  });

  it("stands before the refusals between those that have it, not before those of others", () => {
    const both = { a: shutDown("S", member(5n, 0n, 1n)), b: shutDown("S", member(5n, 0n, 1n, { configId: "y" })) };
    expect(choose(both)).toMatchObject({ outcome: "equal", equal: ["a", "b"] });
    expect(choose({ ...both, c: member(5n, 0n, 1n) })).toMatchObject({ outcome: "not-comparable", because: "split" });
  });

  it("counts no more once the counter moved", () => {
    const a = { ...shutDown("S", status({ changeCounter: 3n })), changeCounter: 4n };
    expect(standingState(a)).toBe("dirty");
    expect(standingState(shutDown("S", status()))).toBe("clean");
    expect(choose({ a, b: shutDown("S", status()) })).toMatchObject({
      outcome: "not-comparable",
      groups: [["a"], ["b"]],
    });
  });

  it("counts no more once the store goes on, nor when it has no name", () => {
    const onwards: StoreStatus = { ...shutDown("S", status()), state: "dirty" };
    expect(choose({ a: onwards, b: shutDown("S", status()) })).toMatchObject({ groups: [["a"], ["b"]] });
    expect(standingState(status({ state: "clean", changeCounterAtShutdown: 0n }))).toBe("dirty");
    expect([onwards, status({ state: "empty" })].map(standingState)).toEqual(["dirty", "empty"]);
  });

  it("of another time makes no one equal", () => {
    expect(
      choose({ a: shutDown("S", status()), b: shutDown("S", status()), c: shutDown("T", status()) }),
    ).toMatchObject({
      outcome: "not-comparable",
      because: "no-cluster",
      groups: [["a", "b"], ["c"]],
    });
  });

  it("lifts those that have it to where the best of them stands", () => {
    const stores = {
      a: shutDown("S", member(5n, 0n, 9n)),
      b: shutDown("S", member(5n, 0n, 2n)),
      c: member(5n, 0n, 5n),
    };
    expect(choose(stores)).toMatchObject({ equal: ["a", "b"], verdicts: ["best", "equal", "fewer changes"] });
  });
});

describe("any stores", () => {
  it("are judged the same in whatever order they come", () => {
    const shuffled = manyCandidates.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray([...list], { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        const byName = (of: Identified, order: typeof list) =>
          Object.fromEntries(of.verdicts.map((verdict, i) => [order[i]?.name, verdict]));
        const [one, two] = [identify(list), identify(other)];
        expect({ ...two, verdicts: byName(two, other) }).toEqual({ ...one, verdicts: byName(one, list) });
      }),
      { numRuns: 1000 },
    );
  });

  it("have a verdict each, a best one or groups of all that could have been it", () => {
    fc.assert(
      fc.property(manyCandidates, (list) => {
        const found = identify(list);
        expect(found.verdicts).toHaveLength(list.length);
        const named = (verdict: string) => list.filter((_, i) => found.verdicts[i] === verdict).map(({ name }) => name);
        if (found.outcome === "not-comparable") {
          expect(found.groups.flat().toSorted()).toEqual(named("not comparable").toSorted());
          expect(found.groups.length).toBeGreaterThan(1);
        } else {
          expect(named("best")).toEqual([found.best]);
          const equal = found.outcome === "equal" ? found.equal : [found.best];
          expect([...named("best"), ...named("equal")].toSorted()).toEqual(equal);
          expect(found.outcome === "equal").toBe(equal.length > 1);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("keep their best when one that loses goes", () => {
    fc.assert(
      fc.property(manyCandidates, (list) => {
        const found = identify(list);
        fc.pre(found.outcome !== "not-comparable");
        const loser = found.verdicts.findIndex((verdict) => verdict !== "best" && verdict !== "equal");
        fc.pre(loser >= 0);
        const rest = identify(list.filter((_, i) => i !== loser));
        expect(rest).toMatchObject({ outcome: found.outcome, best: found.best });
      }),
      { numRuns: 1000 },
    );
  });

  it("are at least one", () => {
    expect(() => identify([])).toThrow("no store to choose from");
  });
});
