import type { Operation } from "../../domain/operation.ts";
import { queueName } from "../../domain/queue.ts";
import { deletedQueueKey } from "../../records/keys.ts";
import { readDeletedQueue } from "../../records/queue.ts";
import type { Context } from "../context.ts";
import { sweepDeleted } from "./sweep.ts";

/** After a rollback: what it freed on a queue that was deleted meanwhile goes where the rest of that queue went. */
export const sweepFreed = async (context: Context, operations: readonly Operation[]): Promise<void> => {
  const removes = operations.filter((operation) => operation.kind === "remove");
  const refs = new Map(removes.map(({ run }) => [queueName(run), run]));
  for (const ref of refs.values()) {
    const queue = await context.settings.find(context.store, ref.name, context.now(), true);
    if (queue?.generation === ref.generation) continue;
    const item = await context.store.read(deletedQueueKey(ref));
    if (item !== undefined) await sweepDeleted(context, readDeletedQueue(item));
  }
};
