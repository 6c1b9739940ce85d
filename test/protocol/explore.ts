/** Breadth first over every state of the model: what is reached first is reached by a shortest way. */
import type { Actor, Protocol, Step } from "./actors.ts";
import { actorNames } from "./actors.ts";
import { Interner, WorldInterner } from "./interner.ts";
import { brokenByStep, brokenInWorld } from "./invariants.ts";
import { initial, type World } from "./table.ts";

export interface Walk {
  readonly states: number;
  readonly steps: number;
  /** Different tables among the states. */
  readonly worlds: number;
  /** Steps from the beginning to the farthest state. */
  readonly depth: number;
  /** Undefined: every invariant held everywhere. */
  readonly broken: Broken | undefined;
}

export interface Broken {
  readonly invariant: string;
  /** A shortest way there, a line each step. */
  readonly trace: readonly string[];
}

/** What one actor may do in one world, with everything replaced by its number. */
interface NumberedStep {
  readonly does: string;
  readonly world: number;
  readonly actor: number;
  readonly broken: string | undefined;
  /** By actor and place: what this step may find the others doing. */
  readonly found: Map<number, readonly number[]>;
}

const ACTORS = actorNames.length;
/** Four numbers of actors in one number. */
const BASE = 8192;

/** Walks the whole model, or until an invariant fails. `maxStates`: it throws beyond. */
export const explore = (protocol: Protocol, maxStates = 30_000_000): Walk => new Walker(protocol).walk(maxStates);

class Walker {
  readonly #protocol: Protocol;
  readonly #worlds = new WorldInterner();
  readonly #actors = new Interner<Actor>();
  /** Of each state: its world, its actors, the state it was reached from and what was done. */
  readonly #world: number[] = [];
  readonly #crew: number[] = [];
  readonly #from: number[] = [];
  readonly #did: string[] = [];
  readonly #known: Set<number>[] = [];
  readonly #stepsOf = new Map<number, readonly NumberedStep[]>();
  readonly #agesOf = new Map<number, readonly NumberedStep[]>();
  #steps = 0;
  #broken: Broken | undefined;

  constructor(protocol: Protocol) {
    this.#protocol = protocol;
  }

  walk(maxStates: number): Walk {
    const idle = this.#actors.of({});
    this.#reach(this.#worlds.of(initial), [idle, idle, idle, idle], -1, "");
    let depth = 0;
    let levelEnd = this.#world.length;
    for (let state = 0; state < this.#world.length && this.#broken === undefined; state++) {
      if (state === levelEnd) {
        depth++;
        levelEnd = this.#world.length;
      }
      if (this.#world.length > maxStates) throw new Error(`the model has more than ${maxStates} states`);
      this.#leave(state);
    }
    return { states: this.#world.length, steps: this.#steps, worlds: this.#worlds.size, depth, broken: this.#broken };
  }

  #leave(state: number): void {
    const world = this.#world[state] ?? 0;
    const crew = unpack(this.#crew[state] ?? 0);
    for (const step of this.#aging(world)) this.#go(state, world, crew, undefined, step);
    for (let index = 0; index < ACTORS; index++) {
      // Of two recoverers in the same place one is enough.
      if (index === 3 && crew[2] === crew[3]) continue;
      for (const step of this.#stepping(world, crew[index] ?? 0, index)) this.#go(state, world, crew, index, step);
    }
  }

  /** One step of an actor (or of time), and everything that the others may turn out to have been doing. */
  #go(state: number, world: number, crew: readonly number[], mover: number | undefined, step: NumberedStep): void {
    const places = crew.map((actor, index) =>
      index === mover ? [step.actor] : this.#finding(world, step, actor, index),
    );
    const [a = [], b = [], c = [], d = []] = places;
    const did = `${mover === undefined ? "time" : actorNames[mover]}: ${step.does}`;
    if (step.broken !== undefined) this.#broken ??= { invariant: step.broken, trace: [...this.#traceTo(state), did] };
    for (const first of a)
      for (const second of b)
        for (const third of c)
          for (const fourth of d) {
            this.#steps++;
            this.#reach(step.world, [first, second, third, fourth], state, did);
          }
  }

  #reach(world: number, crew: readonly number[], from: number, did: string): void {
    const [a = 0, b = 0, c = 0, d = 0] = crew;
    const packed = ((a * BASE + b) * BASE + Math.min(c, d)) * BASE + Math.max(c, d);
    let known = this.#known[world];
    if (known === undefined) {
      known = new Set();
      this.#known[world] = known;
    }
    if (known.has(packed)) return;
    known.add(packed);
    this.#world.push(world);
    this.#crew.push(packed);
    this.#from.push(from);
    this.#did.push(did);
    if (known.size === 1) this.#hold(brokenInWorld(this.#worlds.at(world), this.#protocol), this.#world.length - 1);
  }

  #hold(invariant: string | undefined, state: number): void {
    if (invariant !== undefined) this.#broken ??= { invariant, trace: this.#traceTo(state) };
  }

  #traceTo(state: number): readonly string[] {
    const lines: string[] = [];
    for (let at = state; at > 0; at = this.#from[at] ?? 0) lines.push(this.#did[at] ?? "");
    return lines.toReversed();
  }

  #stepping(world: number, actor: number, index: number): readonly NumberedStep[] {
    const key = (world * BASE + actor) * ACTORS + Math.min(index, 2);
    const known = this.#stepsOf.get(key);
    if (known !== undefined) return known;
    const before = this.#worlds.at(world);
    const steps = this.#protocol
      .steps(before, this.#actors.at(actor), index)
      .map((step) => this.#numbered(before, step));
    this.#stepsOf.set(key, steps);
    return steps;
  }

  #numbered(before: World, step: Step): NumberedStep {
    const world = this.#worlds.of(step.world);
    const broken = brokenByStep(before, this.#worlds.at(world), step);
    return { does: step.does, world, actor: this.#actors.of(step.actor), broken, found: new Map() };
  }

  #aging(world: number): readonly NumberedStep[] {
    const known = this.#agesOf.get(world);
    if (known !== undefined) return known;
    const steps = this.#protocol.ages(this.#worlds.at(world)).map(({ does, world: after }) => ({
      does,
      world: this.#worlds.of(after),
      actor: 0,
      broken: undefined,
      found: new Map(),
    }));
    this.#agesOf.set(world, steps);
    return steps;
  }

  #finding(before: number, step: NumberedStep, actor: number, index: number): readonly number[] {
    if (before === step.world) return [actor];
    const key = actor * ACTORS + Math.min(index, 2);
    const known = step.found.get(key);
    if (known !== undefined) return known;
    const [from, to] = [this.#worlds.at(before), this.#worlds.at(step.world)];
    const found = this.#protocol.inMiddleOf(from, to, this.#actors.at(actor), index);
    const numbers = [...new Set(found.map((each) => this.#actors.of(each)))];
    step.found.set(key, numbers);
    return numbers;
  }
}

const unpack = (packed: number): readonly number[] => {
  const d = packed % BASE;
  const c = Math.floor(packed / BASE) % BASE;
  const b = Math.floor(packed / BASE ** 2) % BASE;
  return [Math.floor(packed / BASE ** 3), b, c, d];
};
