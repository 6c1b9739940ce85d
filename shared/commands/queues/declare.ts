import { randomBytes } from "node:crypto";
import { isReserved } from "../../domain/name.ts";
import { defaultSettings, type Queue, type QueueSettings, sameSettings } from "../../domain/queue.ts";
import { type Refusal, refuse, refuseFields } from "../../domain/refusal.ts";
import { createQueue } from "../../records/queue.ts";
import { besideOf } from "../beside.ts";
import type { Context } from "../context.ts";

export interface Declared {
  readonly queue: Queue;
  readonly isNew: boolean;
}

/** Makes the queue, or finds it with the same settings; with others it is refused, for settings never change. */
export const declareQueue = async (
  context: Context,
  name: string,
  settings: QueueSettings,
): Promise<Declared | Refusal> => {
  if (isReserved(name)) return refuse("not-allowed", "names beginning with amq. are reserved");
  if (settings.deadLetterQueue === name) {
    return refuseFields({ path: "deadLetterQueue", message: "must be another queue than this one" });
  }
  const found = await context.settings.find(context.store, name, context.now(), true);
  if (found !== undefined) return redeclared(found, settings);
  const queue: Queue = { name, generation: randomBytes(6).toString("base64url"), settings };
  const commit = await context.store.commit([
    ...createQueue(queue, context.now()),
    ...besideOf(context, { kind: "queue-declared", queue: name, settings, isNew: true }),
  ]);
  return commit.done ? { queue, isNew: true } : declareQueue(context, name, settings);
};

const redeclared = (queue: Queue, settings: QueueSettings): Declared | Refusal =>
  sameSettings(queue.settings, settings)
    ? { queue, isNew: false }
    : refuse(
        "precondition-failed",
        `queue ${queue.name} exists with other settings: ${differing(queue.settings, settings)}`,
      );

const differing = (has: QueueSettings, wanted: QueueSettings): string =>
  (Object.keys(defaultSettings) as (keyof QueueSettings)[])
    .filter((name) => has[name] !== wanted[name])
    .map((name) => `${name} is ${JSON.stringify(has[name])}, not ${JSON.stringify(wanted[name])}`)
    .join("; ");
