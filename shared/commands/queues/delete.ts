import { partitionsOf, type Queue } from "../../domain/queue.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { type Standing, standingOf } from "../../domain/run.ts";
import { deleteQueue as deletion } from "../../records/queue.ts";
import { besideOf } from "../beside.ts";
import type { Context } from "../context.ts";
import { forgetBindingsTo, isBound } from "../exchanges/forget-bindings.ts";
import { metRunsOf } from "../met-runs.ts";
import { sweepDeleted } from "./sweep.ts";

export interface Conditions {
  /** Only when nothing live stands on it. */
  readonly ifEmpty: boolean;
  /** Only when nothing of it is leased or held, and nothing bound to it. */
  readonly ifUnused: boolean;
}

/**
 * Deletes the queue's name at once; its messages then go to its dead-letter queue or are dropped, as far as this call's
 * time allows. The schedule does the rest, and what branches hold follows when they end.
 */
export const deleteQueue = async (
  context: Context,
  name: string,
  { ifEmpty, ifUnused }: Conditions,
): Promise<Refusal | undefined> => {
  const queue = await context.settings.find(context.store, name, context.now(), true);
  if (queue === undefined) return refuse("not-found", `queue ${name} does not exist`);
  if (ifEmpty && (await hasAny(context, queue, live))) {
    return refuse("precondition-failed", `queue ${name} is not empty`);
  }
  if (ifUnused && (await hasAny(context, queue, inUse))) {
    return refuse("precondition-failed", `queue ${name} has messages that are leased or held`);
  }
  if (ifUnused && (await isBound(context, queue))) {
    return refuse("precondition-failed", `queue ${name} is bound to an exchange`);
  }
  const deletedAtMs = context.now();
  const commit = await context.store.commit([
    ...deletion(queue, deletedAtMs),
    ...besideOf(context, { kind: "deleted" }),
  ]);
  context.settings.forget(name);
  // Another call deleted it first; whoever declared the name again since did so after this call began.
  if (!commit.done) return refuse("not-found", `queue ${name} does not exist`);
  await forgetBindingsTo(context, queue);
  await sweepDeleted(context, { ...queue, deletedAtMs });
  return undefined;
};

const inUse: readonly Standing[] = ["leased", "held"];
const live: readonly Standing[] = ["available", "delayed", ...inUse];

const hasAny = async (context: Context, queue: Queue, wanted: readonly Standing[]): Promise<boolean> => {
  for (const partition of partitionsOf(queue)) {
    for await (const { runs, nowMs, isAlive } of metRunsOf(context, partition)) {
      const isWanted = runs.some((run) =>
        run.slots.some((_, index) => wanted.includes(standingOf(run, index, queue.settings, nowMs, isAlive))),
      );
      if (isWanted) return true;
    }
  }
  return false;
};
