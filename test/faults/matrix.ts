/** The crash matrix: each operation played once without a fault, and then with every fault at every call that it makes. */
import { fnv1a } from "../../shared/domain/hash.ts";
import { randomFrom } from "../interleavings/random.ts";
import type { InProcessService } from "../support/in-process.ts";
import { deliveredTwice, type Fault, faults, isWrite, struckBesides, type Timing } from "./fault.ts";
import type { Seen as Call, Context } from "./injection.ts";
import { judge, scriptsFor } from "./judge.ts";
import type { Lane } from "./lane.ts";
import { Lanes } from "./lanes.ts";
import { isWork, nameOf, type Operation, type Recorded } from "./operation.ts";
import { type End, isSend, type Played, playScript, playStruck, type Strike } from "./play.ts";
import { hasTimeToLive } from "./records.ts";
import { isEach, isThorough, onlyFault, seed } from "./settings.ts";

/** What became of an operation's cases. */
export interface Result {
  readonly calls: number;
  readonly cases: number;
  /** Each case that did not come out as it should: which, and why. */
  readonly failures: readonly string[];
  /** Calls that no case struck. */
  readonly missed: readonly string[];
}

/** Plays the cases of operations in as many lanes as there are. */
export class Matrix {
  readonly #lanes: Lanes;

  constructor(service: InProcessService, lanes: number) {
    this.#lanes = new Lanes(service, lanes);
  }

  async run(operation: Operation): Promise<Result> {
    const recorded = await this.#lanes.use((lane) => lane.record(operation));
    const ends = new Map<string, Promise<End>>();
    const context = (lane: Lane, what: string): Context => ({
      lane,
      recorded,
      ends,
      random: randomFrom(seed ^ fnv1a(`${nameOf(operation)} ${what}`)),
    });
    const expected = await this.#expected(recorded, context);
    const calls = expected.steady[0]?.calls ?? [];
    const isByWorkers = isWork(operation);
    const tried = faults.filter((fault) => isTried(fault, recorded));
    const strikes = [
      ...strikesOn(calls, tried, operation.isLarge === true),
      // What one worker meets of the other is the same however much there is: of large ones it is delivered twice, no more.
      ...(isByWorkers && operation.isLarge !== true ? strikesBesides(calls, recorded) : []),
      ...(isByWorkers ? deliveredTwice : [])
        .filter((fault) => isTried(fault, recorded))
        .map((fault) => ({ fault, call: undefined })),
    ];
    const startedMs = performance.now();
    const failures: string[] = [];
    const struck = new Set<number>();
    await Promise.all(
      strikes.map(async (strike) => {
        const what = textOf(strike);
        const why = await this.#lanes.use(async (lane) => {
          try {
            const played = await playStruck(context(lane, what), strike);
            if (played.isStruck && strike.call !== undefined) struck.add(strike.call.index);
            return judge(operation, strike.fault, played, expected[strike.fault.timing]);
          } catch (error) {
            return [String(error instanceof Error ? (error.stack ?? error) : error)];
          }
        });
        if (why.length > 0) failures.push(`${what}:\n ${why.join("\n ")}`);
      }),
    );
    if (isThorough) {
      const ms = Math.round(performance.now() - startedMs);
      const figures = `${calls.length} calls, ${strikes.length} cases, ${ends.size} states, ${ms} ms`;
      console.log([`${nameOf(operation)}: ${figures}`, ...failures].join("\n"));
    }
    return {
      calls: calls.length,
      cases: strikes.length,
      failures,
      // Who waits looks as often as the time lets him: another time that may be less often.
      missed: calls.flatMap((call) =>
        struck.has(call.index) ||
        (recorded.scene.line !== undefined && call.isEmpty) ||
        (recorded.scene.line?.isAwaited === true && call.operation === "GetItem")
          ? []
          : [`${call.index} ${call.operation}`],
      ),
    };
  }

  async #expected(
    recorded: Recorded,
    context: (lane: Lane, what: string) => Context,
  ): Promise<Record<Timing, readonly Played[]>> {
    const played = (timing: Timing) =>
      Promise.all(
        scriptsFor[timing].map((script) =>
          this.#lanes.use((lane) => playScript(context(lane, JSON.stringify(script)), script)),
        ),
      );
    const [steady, frozen, days] = await Promise.all([
      played("steady"),
      played("frozen"),
      mayTakeDays(recorded) ? played("days") : [],
    ]);
    return { steady, frozen, days };
  }
}

/**
 * Every fault at every call that it can happen to. Reads of one list after the other that found nothing (the shards of the
 * branches), and those of one part after the other of what is large, are the same call many times: each is struck, and each
 * fault strikes one of them, another one in the next run; `CRASH=each` has them all.
 */
const strikesOn = (calls: readonly Call[], tried: readonly Fault[], isLarge: boolean): readonly Strike[] => {
  const groups = Map.groupBy(calls, (call) => {
    if (call.isEmpty && call.operation === "Query") return "nothing";
    return isLarge && !isWrite(call) && !isSend(call) ? call.operation : call;
  });
  return [...groups.values()].flatMap((alike) =>
    alike.flatMap((call, at) => {
      const turn = alike.length > 2 && !isEach ? (at + seed) % alike.length : -1;
      return tried
        .filter((fault) => fault.strikes(call))
        .filter((_, i, { length }) => turn === -1 || i % alike.length === turn || turn % length === i)
        .map((fault) => ({ fault, call }));
    }),
  );
};

/** Every call while the other worker is at it too, by one fault after the other; `CRASH=each` has them all at each. */
const strikesBesides = (calls: readonly Call[], recorded: Recorded): readonly Strike[] =>
  calls.flatMap((call) => {
    const tried = struckBesides.filter((fault) => isTried(fault, recorded) && fault.strikes(call));
    return tried
      .filter((_, i, { length }) => isEach || i === (seed + call.index) % length)
      .map((fault) => ({ fault, call }));
  });

/** The command queue keeps nothing for days. */
const mayTakeDays = ({ records, queued }: Recorded): boolean =>
  records.some(hasTimeToLive) && Object.keys(queued).length === 0;

const isTried = (fault: Fault, recorded: Recorded): boolean =>
  (fault.timing !== "days" || mayTakeDays(recorded)) && (onlyFault === undefined || fault.name.includes(onlyFault));

const textOf = ({ fault, call }: Strike): string =>
  call === undefined ? fault.name : `call ${call.index} ${call.operation} ${fault.name}`;
