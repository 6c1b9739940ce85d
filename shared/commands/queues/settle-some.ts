import { setTimeout as sleep } from "node:timers/promises";
import type { Queue } from "../../domain/queue.ts";
import { type IsAlive, type Run, type Standing, settle, standingOf } from "../../domain/run.ts";
import { readRun } from "../../records/run.ts";
import { Unavailable } from "../../store/port.ts";
import { changeRun } from "../change-run.ts";
import type { Context } from "../context.ts";
import { nothingCounted } from "../leave.ts";
import type { Over } from "../over.ts";
import { leaseLiveness } from "../sessions/lease-liveness.ts";

/** Every lost round is someone else's change of the same run. */
const ROUNDS = 250;
const PAUSE_MS = 20;

/**
 * Settles those messages of a run that `choose` names by how each stands (one standing a message, in order), and decides
 * again when someone changed the run at the same time. Answers the choice that was carried out, if any was.
 */
export const settleSome = async <Choice extends Over>(
  context: Context,
  queue: Queue,
  first: Run,
  choose: (standings: readonly Standing[]) => Choice,
): Promise<Choice | undefined> => {
  let run = first;
  let counted = nothingCounted;
  for (let round = 0; round < ROUNDS; round++) {
    const isAlive = await leaseLiveness(context, [run]);
    const choice = choose(standings(run, queue, context.now(), isAlive));
    if (choice.settled.length === 0) return undefined;
    const changed = await changeRun(context, queue, run, settle(run, choice.settled), choice.dead, {
      already: counted,
    });
    if (changed.done) return choice;
    if (changed.found === undefined) return changed.repeated ? choice : undefined;
    run = readRun(changed.found, first.key);
    counted = changed.counted;
    await sleep(Math.random() * PAUSE_MS);
  }
  throw new Unavailable("the messages are changed by others all the time");
};

const standings = (run: Run, queue: Queue, nowMs: number, isAlive: IsAlive): readonly Standing[] =>
  run.slots.map((_, index) => standingOf(run, index, queue.settings, nowMs, isAlive));
