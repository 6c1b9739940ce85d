/** What a step of a history is made of. */
import fc from "fast-check";
import type { Who, World } from "./world.ts";

/** A step: what it does depends on the state of the run, which says the rest (which delivery, which epoch). */
export type Step = (w: World) => Promise<void>;

/** A step as fast-check runs, shrinks and prints it. */
export class Command implements fc.AsyncCommand<World, World> {
  readonly #name: string;
  readonly #step: Step;
  readonly #isWorthIt: (w: World) => boolean;

  constructor(name: string, step: Step, isWorthIt: (w: World) => boolean) {
    this.#name = name;
    this.#step = step;
    this.#isWorthIt = isWorthIt;
  }

  check(w: World): boolean {
    return this.#isWorthIt(w);
  }

  async run(w: World): Promise<void> {
    await this.#step(w);
  }

  toString(): string {
    return this.#name;
  }
}

/** Steps of one kind, from the parameters that an arbitrary makes; those that would only be refused may be left out. */
export const steps = <P extends object>(
  name: string,
  parameters: { [K in keyof P]: fc.Arbitrary<P[K]> },
  step: (w: World, p: P) => Promise<void>,
  isWorthIt: (w: World, p: NoInfer<P>) => boolean = () => true,
): fc.Arbitrary<Command> =>
  fc.record(parameters).map(
    (p) =>
      new Command(
        `${name} ${JSON.stringify(p)}`,
        (w) => step(w, p as P),
        (w) => isWorthIt(w, p as P),
      ),
  );

/** A step on a branch that is there; on one that is not, now and then. */
export const onBranch = (
  w: World,
  { branch, at, isBlind = false }: { branch: number; at: number; isBlind?: boolean },
): boolean =>
  isBlind || w.broker.branches.has(w.xids[branch] ?? "") || (at === 1 && w.broker.outcomes.has(w.xids[branch] ?? ""));

export const hasGiven = (w: World): boolean => w.given.length > 0;

/** Sessions by number: the third is attached late or never. */
const session = fc.oneof({ weight: 9, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: fc.constant(2) });

export const someone: fc.Arbitrary<Who> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Who>("nobody") },
  { weight: 5, arbitrary: session.map((session): Who => ({ session, isOld: false })) },
  { weight: 1, arbitrary: session.map((session): Who => ({ session, isOld: true })) },
);

/** For calls in a branch: mostly a session that may work there. */
export const worker: fc.Arbitrary<Who> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Who>("worker") },
  { weight: 1, arbitrary: someone },
);

export const member: fc.Arbitrary<Who> = fc.oneof(
  { weight: 12, arbitrary: session.map((session): Who => ({ session, isOld: false })) },
  { weight: 1, arbitrary: someone },
);

/** Who sends it as a command, mostly nobody: it is done at once. */
export const later: fc.Arbitrary<Who> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Who>("nobody") },
  { weight: 2, arbitrary: member },
);

/** Of a session's call: as a command. */
export const isLater = fc.nat(2).map((n) => n === 2);

/** One of the two processes. */
export const process = fc.nat(1);
/** Queues by number; the dead-letter queues, 3 and 4, more rarely. */
export const queue = fc.oneof(
  { weight: 6, arbitrary: fc.nat(2) },
  { weight: 1, arbitrary: fc.integer({ min: 3, max: 4 }) },
);
/** Exchanges by number: three of the run's own, and a standard one. */
export const exchange = fc.nat(3);
export const bindingKeys = fc.constantFrom("", "a", "a.b", "b", "*", "a.*", "#", "a.#", "#.b", "*.b.#", "#.#");
export const routingKeys = fc.constantFrom("", "a", "a", "a.b", "a.b", "b", "a.b.c", "b.b", "#");
/** Branches by number: the first is met most often. */
export const branch = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) });
export const isBlind = fc.integer({ min: 0, max: 9 }).map((n) => n === 9);
export const rarely = fc.integer({ min: 0, max: 7 }).map((n) => n === 7);
