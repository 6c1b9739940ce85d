/** What a soak declares before it begins: queues of every kind of end, and exchanges over some of them. */
import { setTimeout as sleep } from "node:timers/promises";
import { declare, type Route } from "./calls.ts";
import type { QueueRules } from "./history.ts";
import type { Recorder, Request } from "./recorder.ts";

/** Where dead letters go, and are consumed and redriven from. */
export const letters = "soak-dead";

/**
 * Four queues that lose nothing, or give it to the dead-letter queue; one that ends messages by their time; two with limits;
 * one that persists nothing before it answers, and one where order is strict.
 */
const rules: Readonly<Record<string, QueueRules>> = {
  [letters]: {},
  "soak-a": { deadLetterQueue: letters, maxDeliveries: 5 },
  "soak-b": {},
  "soak-c": { deadLetterQueue: letters },
  "soak-d": { deadLetterQueue: letters, messageTtlSeconds: 30 },
  "soak-brief": { messageTtlSeconds: 10 },
  "soak-full": { maxMessages: 20, overflow: "reject" },
  "soak-ring": { maxMessages: 12, overflow: "ring" },
  "soak-never": { messageDurability: "never" },
  "soak-strict": { strictOrder: true },
};

export const queues = [
  "soak-a",
  "soak-b",
  "soak-c",
  "soak-d",
  "soak-a",
  "soak-b",
  "soak-c",
  "soak-d",
  "soak-brief",
  "soak-full",
  "soak-ring",
  "soak-never",
  "soak-strict",
] as const;

/** Where sessions send to: each order that there is a promise of, and a queue that refuses. */
export const senderQueues = ["soak-b", "soak-b", "soak-never", "soak-strict", "soak-strict", "soak-full"] as const;

/** Every queue, the dead-letter queue last: what is taken from the others may still bring something there. */
export const allQueues: readonly string[] = [...Object.keys(rules).filter((queue) => queue !== letters), letters];

const fan = ["soak-b", "soak-c", "soak-ring"];

/** A fanout, and a direct exchange whose alternate it is. */
export const routes: readonly [Route, ...Route[]] = [
  { exchange: "soak-fan", routingKey: "", queues: fan },
  { exchange: "soak-keys", routingKey: "two", queues: ["soak-a", "soak-d"] },
  { exchange: "soak-keys", routingKey: "limited", queues: ["soak-b", "soak-full"] },
  { exchange: "soak-keys", routingKey: "other", queues: fan },
];

const LEASE_SECONDS = 2;

export const declareAll = async (to: Recorder): Promise<void> => {
  for (const [queue, rule] of Object.entries(rules)) await declare(to, "the beginning", queue, rule, LEASE_SECONDS);
  await put(to, "soak-fan", { type: "fanout" });
  await put(to, "soak-keys", { type: "direct", alternateExchange: "soak-fan" });
  for (const queue of fan) await put(to, "soak-fan/bindings", { queue });
  for (const { exchange, routingKey, queues: bound } of routes) {
    if (exchange === "soak-fan" || routingKey === "other") continue;
    for (const queue of bound) await put(to, `${exchange}/bindings`, { queue, bindingKey: routingKey });
  }
};

const put = (to: Recorder, path: string, body: object): Promise<unknown> =>
  certainly(to, { method: "PUT", path: `/exchanges/${path}`, body });

/** Sends it until it is answered. */
export const certainly = async (to: Recorder, request: Request): Promise<unknown> => {
  for (let attempt = 0; attempt < 20; attempt++) {
    const reply = await to.send(request);
    if (reply !== undefined && "body" in reply) return reply.body;
    if (reply !== undefined) throw new Error(`refused: ${reply.refused}`);
    await sleep(250);
  }
  throw new Error("no answer in 20 attempts");
};
