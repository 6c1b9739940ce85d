/**
 * Which orders of steps there are: a depth-first search over schedules that starts everything anew for each (stateless).
 * Orders that differ only in steps which share no record are one order; of each such class the search runs one schedule,
 * by source sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic partial order reduction", 2014).
 */
import { conflict, type Footprint } from "./footprint.ts";

/** A step that an operation is ready to take; its calls are numbered in the order in which they begin. */
export interface Step {
  readonly operation: string;
  readonly index: number;
  readonly touches: Footprint;
}

/** Picks the next of the steps that could be taken now. */
export type Choose = (open: readonly Step[]) => Step;

/** Everything from the start to the end, asking for the next step whenever all operations stand still. */
export type Run = (choose: Choose) => Promise<void>;

export interface Explored {
  /** Schedules that were run, each another one. */
  readonly schedules: number;
  /** Runs that went another way than planned, because something in them was random: continued in order. */
  readonly diverged: number;
  /** There is no order that was not run. */
  readonly isComplete: boolean;
}

/** As a schedule is written: `commit.3` is the fourth call of the commit. */
export const nameOf = ({ operation, index }: Step): string => `${operation}.${index}`;

/** A point of the path: what could be done there, what is done now, what was and what is still to be. */
interface Node {
  readonly open: readonly Step[];
  readonly chosen: string;
  readonly wanted: Set<string>;
  readonly done: Set<string>;
  /** Steps whose turn at this point would lead to an order that was run already. */
  readonly asleep: ReadonlySet<string>;
}

/** Runs every order, or as many as `atMost`. */
export const explore = async (run: Run, atMost = Number.POSITIVE_INFINITY): Promise<Explored> => {
  const path: Node[] = [];
  const seen = new Set<string>();
  let diverged = 0;
  do {
    if (seen.size + diverged >= atMost) return { schedules: seen.size, diverged, isComplete: false };
    const walked = await walk(run, path);
    seen.add(walked.schedule);
    if (walked.hasDiverged) diverged += 1;
    wantReversals(path);
  } while (goBack(path));
  return { schedules: seen.size, diverged, isComplete: true };
};

/** One run along the path as far as it is planned, then in order; the path is what was really done. */
const walk = async (run: Run, path: Node[]): Promise<{ schedule: string; hasDiverged: boolean }> => {
  const names: string[] = [];
  const planned = path.length;
  let isKnown = false;
  let hasDiverged = false;
  await run((open) => {
    const depth = names.length;
    const node = path[depth];
    if (!isKnown && (node === undefined || !open.some((step) => nameOf(step) === node.chosen))) {
      hasDiverged ||= depth < planned;
      path.length = depth;
      const next = nodeAfter(path[depth - 1], open);
      // All that is left leads to orders that were run: what is begun is ended, and not looked at.
      if (next === undefined) isKnown = true;
      else path.push(next);
    } else if (node !== undefined && !isKnown) path[depth] = { ...node, open };
    const chosen = (!isKnown && path[depth]?.chosen) || nameOf(inOrder(open, names.at(-1)));
    names.push(chosen);
    return stepNamed(open, chosen);
  });
  if (names.length < path.length) {
    hasDiverged = true;
    path.length = names.length;
  }
  return { schedule: names.join(" "), hasDiverged };
};

const nodeAfter = (before: Node | undefined, open: readonly Step[]): Node | undefined => {
  const asleep = new Set<string>();
  if (before !== undefined) {
    const chosen = stepNamed(before.open, before.chosen);
    for (const step of open) {
      const name = nameOf(step);
      const wasDone = before.asleep.has(name) || (before.done.has(name) && name !== before.chosen);
      if (wasDone && !conflict(step.touches, chosen.touches)) asleep.add(name);
    }
  }
  const awake = open.filter((step) => !asleep.has(nameOf(step)));
  if (awake.length === 0) return undefined;
  const chosen = nameOf(inOrder(awake, before?.chosen));
  return { open, chosen, wanted: new Set([chosen]), done: new Set([chosen]), asleep };
};

/** The operation that moved last goes on, if it can; else the first one. */
const inOrder = (open: readonly Step[], last: string | undefined): Step => {
  const operation = last?.slice(0, last.lastIndexOf("."));
  const step = open.find((one) => one.operation === operation) ?? open[0];
  if (step === undefined) throw new Error("nothing can move");
  return step;
};

const stepNamed = (open: readonly Step[], name: string): Step => {
  const step = open.find((one) => nameOf(one) === name);
  if (step === undefined) throw new Error(`${name} is not ready`);
  return step;
};

/** The deepest point that something is still wanted at becomes the end of the plan; false when there is none. */
const goBack = (path: Node[]): boolean => {
  for (let node = path.pop(); node !== undefined; node = path.pop()) {
    const { wanted, done, asleep } = node;
    const next = [...wanted].find((name) => !done.has(name) && !asleep.has(name));
    if (next === undefined) continue;
    path.push({ ...node, chosen: next, done: new Set([...done, next]) });
    return true;
  }
  return false;
};

/**
 * For each two steps of the path that share a record, with nothing between them that ties one to the other: the order
 * in which the later one comes first is wanted.
 */
const wantReversals = (path: readonly Node[]): void => {
  const steps = path.map((node) => stepNamed(node.open, node.chosen));
  const before = happenedBefore(path, steps);
  for (const [late, step] of steps.entries()) {
    const ties = before.ties[late] ?? [];
    for (const early of ties) {
      const isCause = before.causes[late]?.has(early) === true;
      const isTied = ties.some((between) => between !== early && before.all[between]?.has(early));
      const node = path[early];
      if (isCause || isTied || node === undefined || steps[early] === undefined) continue;
      const first = initials(early, late, before.all);
      if (first.some((index) => node.wanted.has(nameAt(steps, index)))) continue;
      const ready = first.map((index) => nameAt(steps, index)).find((name) => isOpen(node, name));
      for (const name of ready === undefined ? node.open.map(nameOf) : [ready]) node.wanted.add(name);
    }
    if (step === undefined) throw new Error("a path has no gaps");
  }
};

interface Before {
  /** Of each step, those that it comes after and that it is tied to itself. */
  readonly ties: readonly (readonly number[])[];
  /** Of each step, those without which it would not have begun: all that its operation had been answered by then. */
  readonly causes: readonly ReadonlySet<number>[];
  /** Of each step, all that it comes after by any chain of ties. */
  readonly all: readonly ReadonlySet<number>[];
}

const happenedBefore = (path: readonly Node[], steps: readonly Step[]): Before => {
  const ties: number[][] = [];
  const causes: Set<number>[] = [];
  const all: Set<number>[] = [];
  const readySince = new Map<string, number>();
  for (const [depth, node] of path.entries()) {
    for (const step of node.open) if (!readySince.has(nameOf(step))) readySince.set(nameOf(step), depth);
  }
  for (const [late, step] of steps.entries()) {
    const since = readySince.get(nameOf(step)) ?? late;
    const own = new Set<number>();
    const tied: number[] = [];
    const known = new Set<number>();
    for (const [early, other] of steps.slice(0, late).entries()) {
      const isCause = other.operation === step.operation && early < since;
      if (isCause) own.add(early);
      if (!isCause && !conflict(other.touches, step.touches)) continue;
      tied.push(early);
      known.add(early);
      for (const index of all[early] ?? []) known.add(index);
    }
    ties.push(tied);
    causes.push(own);
    all.push(known);
  }
  return { ties, causes, all };
};

/** Of the steps that could lead to `late` without `early`: those that nothing among them must precede. */
const initials = (early: number, late: number, all: Before["all"]): readonly number[] => {
  const free: number[] = [];
  for (let index = early + 1; index < late; index++) if (!all[index]?.has(early)) free.push(index);
  free.push(late);
  return free.filter((index) => !free.some((other) => all[index]?.has(other)));
};

const nameAt = (steps: readonly Step[], index: number): string => {
  const step = steps[index];
  if (step === undefined) throw new Error("a path has no gaps");
  return nameOf(step);
};

const isOpen = (node: Node, name: string): boolean => node.open.some((step) => nameOf(step) === name);
