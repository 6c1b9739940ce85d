import { setTimeout as sleep } from "node:timers/promises";
import type { Delivery } from "../../domain/delivery.ts";
import type { Queue } from "../../domain/queue.ts";
import {
  type IsAlive,
  isLeaseInForce,
  judge,
  type Lease,
  type Run,
  type RunKey,
  type SettleOutcome,
  type Slot,
  slotAt,
} from "../../domain/run.ts";
import { runKey } from "../../records/keys.ts";
import { readRun } from "../../records/run.ts";
import type { Item, Write } from "../../records/write.ts";
import { Unavailable } from "../../store/port.ts";
import { changeRun, type Dead } from "../change-run.ts";
import type { Context } from "../context.ts";
import { meetBranches } from "../dtx/meet.ts";
import { nothingCounted } from "../leave.ts";

/** What a verb makes of the messages whose leases hold; `dead` ones are among those it settles. */
export type Settling = (
  run: Run,
  indexes: readonly number[],
  queue: Queue,
  nowMs: number,
) => { readonly after: Run; readonly dead: readonly Dead[] };

/** The deliveries of one run. */
export interface Group {
  readonly queue: Queue;
  readonly deliveries: readonly Delivery[];
  readonly item: Item | undefined;
}

/** Writes for the commit that changes a run: the outcomes are those of its deliveries, in their order. */
export type BesideRun = (run: RunKey, outcomes: readonly SettleOutcome[]) => readonly Write[];

/** Every lost round is someone else's change of the same run: 100 messages, each delivered and settled, and some more. */
const ROUNDS = 250;
/** Rounds in which the branches that hold a message are asked whether they still may. */
const MEETINGS = 5;
/** From this round on a busy run is left alone for a moment, up to so many ms. */
const PATIENT_ROUNDS = 3;
const PAUSE_MS = 20;

/** Decides and settles the deliveries of one run; the outcomes come in their order. */
export const settleRun = async (
  context: Context,
  group: Group,
  isAlive: IsAlive,
  settling: Settling,
  beside: BesideRun = () => [],
): Promise<readonly SettleOutcome[]> => {
  const [first] = group.deliveries;
  if (first === undefined) return [];
  let { item } = group;
  let counted = nothingCounted;
  // Attempts that may have landed although their answer was lost.
  let attempted = new Map<number, Attempted>();
  for (let round = 0; round < ROUNDS; round++) {
    const run = item && readRun(item, first.run);
    const nowMs = context.now();
    const judged = group.deliveries.map(({ index, token }) =>
      judge(run?.slots[index], token, undefined, nowMs, isAlive),
    );
    const outcomes = judged.map((outcome, i) => {
      const attempt = attempted.get(i);
      if (attempt === undefined || !isLeaseInForce(attempt.lease, nowMs, isAlive)) return outcome;
      return mayBeOurs(attempt.became, outcome) ? "ok" : outcome;
    });
    if (run === undefined) return outcomes;
    if (round < MEETINGS && judged.includes("locked") && (await meetHolders(context, group, run))) {
      item = await context.store.read(runKey(first.run));
      continue;
    }
    const indexes = group.deliveries.flatMap(({ index }, i) => (judged[i] === "ok" ? [index] : []));
    if (indexes.length === 0) return outcomes;
    const { after, dead } = settling(run, indexes, group.queue, nowMs);
    if (after === run) return outcomes;
    const changed = await changeRun(context, group.queue, run, after, dead, {
      already: counted,
      beside: beside(first.run, outcomes),
    });
    if (changed.done) return outcomes;
    ({ counted, found: item } = changed);
    if (changed.repeated) attempted = new Map([...attempted, ...attemptsOn(group, run, after, judged)]);
    if (round >= PATIENT_ROUNDS) await sleep(Math.random() * PAUSE_MS);
  }
  throw new Unavailable("the messages are changed by others all the time");
};

/** Whether a branch that holds any of these messages had to be doomed: what it held may be free again. */
const meetHolders = (context: Context, { deliveries }: Group, run: Run): Promise<boolean> => {
  const holds = deliveries.flatMap(({ index }) => {
    const slot = run.slots[index];
    const hold = slot?.state === "held" ? run.holds[slot.incarnation] : undefined;
    return slot?.state === "held" && hold !== undefined ? [[slot.incarnation, hold] as const] : [];
  });
  return meetBranches(context, Object.fromEntries(holds));
};

/** What an attempt found a message leased under, and would have made of it. */
interface Attempted {
  readonly lease: Lease;
  readonly became: Slot["state"];
}

const attemptsOn = (
  { deliveries }: Group,
  run: Run,
  after: Run,
  judged: readonly SettleOutcome[],
): readonly [number, Attempted][] =>
  deliveries.flatMap(({ index }, i): readonly [number, Attempted][] => {
    const slot = run.slots[index];
    if (judged[i] !== "ok" || slot?.state !== "leased") return [];
    return [[i, { lease: slot.lease, became: slotAt(after, index).state }]];
  });

/** Whether the message can be as it is now if the attempt landed: what is settled never comes back. */
const mayBeOurs = (became: Slot["state"], outcome: SettleOutcome): boolean =>
  became === "settled" ? outcome === "not-found" : became === "available";
