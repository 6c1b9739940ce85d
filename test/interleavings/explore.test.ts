import { describe, expect, test } from "vitest";
import { type Choose, explore, nameOf, type Run, type Step } from "./explore.ts";
import type { Footprint } from "./footprint.ts";
import { randomFrom, sample } from "./random.ts";

/** A step of a toy program: it changes what is remembered and what is known to itself, and may begin others at once. */
interface Toy {
  readonly touches: Footprint;
  readonly act: (memory: Map<string, number>, own: Map<string, number>) => void;
}

/** Steps in sequence; those of one list are ready at the same time. */
type Program = readonly (readonly Toy[])[];

const read = (name: string): Toy => ({
  touches: [{ pk: name, sk: "", isWritten: false }],
  act: (memory, own) => own.set(name, memory.get(name) ?? 0),
});

const write = (name: string, value: (own: Map<string, number>) => number): Toy => ({
  touches: [{ pk: name, sk: "", isWritten: true }],
  act: (memory, own) => memory.set(name, value(own)),
});

const addOne = (name: string): Program => [[read(name)], [write(name, (own) => (own.get(name) ?? 0) + 1)]];

/** Runs programs on a memory that begins at 0, and notes what it ends with. */
const toyRun = (programs: Readonly<Record<string, Program>>, ends: Set<string>): Run => {
  return async (choose) => {
    const memory = new Map<string, number>();
    const actors = Object.entries(programs).map(([operation, program]) => new Actor(operation, program));
    for (;;) {
      const open = actors.flatMap((actor) => actor.open());
      if (open.length === 0) break;
      const chosen = choose(open);
      actors.find(({ operation }) => operation === chosen.operation)?.take(chosen, memory);
    }
    const owns = actors.map(({ own }) => JSON.stringify([...own].toSorted()));
    ends.add(JSON.stringify([...memory].toSorted()) + owns.join());
  };
};

class Actor {
  readonly operation: string;
  readonly own = new Map<string, number>();
  readonly #program: Program;
  #at = 0;
  #begun = 0;
  #ready: { readonly index: number; readonly toy: Toy }[] = [];

  constructor(operation: string, program: Program) {
    this.operation = operation;
    this.#program = program;
    this.#begin();
  }

  open(): readonly Step[] {
    return this.#ready.map(({ index, toy }) => ({ operation: this.operation, index, touches: toy.touches }));
  }

  take(step: Step, memory: Map<string, number>): void {
    const ready = this.#ready.find(({ index }) => index === step.index);
    ready?.toy.act(memory, this.own);
    this.#ready = this.#ready.filter((one) => one !== ready);
    if (this.#ready.length === 0) this.#begin();
  }

  #begin(): void {
    const toys = this.#program[this.#at] ?? [];
    this.#at += 1;
    this.#ready = toys.map((toy) => ({ index: this.#begun++, toy }));
  }
}

/** Every order there is, equal ones and all. */
const everyOrder = async (run: Run): Promise<number> => {
  let plan: { readonly width: number; at: number }[] = [];
  let runs = 0;
  for (;;) {
    let depth = 0;
    await run((open) => {
      const point = plan[depth] ?? { width: open.length, at: 0 };
      plan[depth] = point;
      depth += 1;
      const step = open[point.at];
      if (step === undefined) throw new Error("no such step");
      return step;
    });
    runs += 1;
    plan = plan.slice(0, plan.findLastIndex(({ at, width }) => at + 1 < width) + 1);
    const last = plan.at(-1);
    if (last === undefined) return runs;
    last.at += 1;
  }
};

const x2 = (own: Map<string, number>) => 2 * (own.get("x") ?? 0);

const programs: Readonly<Record<string, Readonly<Record<string, Program>>>> = {
  "two that add one": { a: addOne("x"), b: addOne("x") },
  "three that add one": { a: addOne("x"), b: addOne("x"), c: addOne("x") },
  "nothing shared": { a: [...addOne("x"), ...addOne("x")], b: [...addOne("y"), ...addOne("y")] },
  "a reader of two and a writer of both": {
    a: [[read("x")], [read("y")]],
    b: [[write("x", () => 1)], [write("y", () => 1)]],
  },
  "reads at once, and a writer between": {
    a: [[read("x"), read("y")], [write("z", (own) => (own.get("x") ?? 0) + 10 * (own.get("y") ?? 0))]],
    b: [[write("y", () => 1)], [write("x", () => 1)], [read("z")]],
  },
  "two writes at once of the same": { a: [[write("x", () => 1), write("x", () => 2)], [read("x")]], b: addOne("x") },
  "many shards, one of them shared": {
    a: [..."12345678".split("").map((shard) => [read(shard)]), [write("x", (own) => own.get("4") ?? 0)]],
    b: [[read("x")], [write("4", (own) => 1 + (own.get("x") ?? 0))], [read("x")]],
  },
  "a step that touches everything": {
    a: [...addOne("x"), ...addOne("y")],
    b: [[{ touches: "everything", act: (memory) => memory.set("x", 7) }], [read("y")]],
  },
  "three that pass on": {
    a: [[write("x", () => 1)], [read("z")]],
    b: [[read("x")], [write("y", x2)]],
    c: [[read("y")], [write("z", (own) => own.get("y") ?? 0)]],
  },
};

describe("The search for every order", () => {
  test.for(Object.entries(programs))("finds every end that any order comes to: %s", async ([, given]) => {
    const [every, found] = [new Set<string>(), new Set<string>()];
    const orders = await everyOrder(toyRun(given, every));
    const { schedules, isComplete, diverged } = await explore(toyRun(given, found));
    expect([...found].toSorted()).toEqual([...every].toSorted());
    expect({ isComplete, diverged }).toEqual({ isComplete: true, diverged: 0 });
    expect(schedules).toBeLessThanOrEqual(orders);
  });

  test("runs one order where nothing is shared, and few where little is", async () => {
    const schedules = async (name: string) => (await explore(toyRun(programs[name] ?? {}, new Set()))).schedules;
    expect(await schedules("nothing shared")).toBe(1);
    expect(await schedules("two that add one")).toBe(4);
    // 12 steps of which two pairs share a record: 220 orders, four of which differ.
    expect(await schedules("many shards, one of them shared")).toBeLessThanOrEqual(6);
  });

  test("stops at its bound and says so", async () => {
    const { schedules, isComplete } = await explore(toyRun(programs["three that add one"] ?? {}, new Set()), 3);
    expect({ schedules, isComplete }).toEqual({ schedules: 3, isComplete: false });
  });

  test("goes on in order when a run takes another way than planned, and counts it once", async () => {
    const given = programs["two that add one"] ?? {};
    let runs = 0;
    const moody: Run = (choose) => {
      runs += 1;
      // In every second run b has nothing to do.
      return toyRun(runs % 2 === 0 ? { a: given.a ?? [] } : given, new Set())(choose);
    };
    const { diverged, schedules } = await explore(moody, 50);
    expect(diverged).toBeGreaterThan(0);
    expect(schedules).toBeLessThanOrEqual(runs);
  });
});

test("The same seed takes the same turns, another one others", async () => {
  const given = programs["three that add one"] ?? {};
  const turns = async (seed: number): Promise<readonly string[]> => {
    const names: string[] = [];
    const noting =
      (choose: Choose): Choose =>
      (open) => {
        const step = choose(open);
        names.push(nameOf(step));
        return step;
      };
    await sample((choose) => toyRun(given, new Set())(noting(choose)), 5, randomFrom(seed));
    return names;
  };
  expect(await turns(1)).toEqual(await turns(1));
  expect(await turns(1)).not.toEqual(await turns(2));
});
