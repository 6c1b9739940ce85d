import type { Client } from "./client.ts";
import { bodiesOf, expectOk, newQueues } from "./moves.ts";
import { unique } from "./names.ts";
import type { QueueSettings } from "./shapes.ts";

export interface Fanout {
  readonly exchange: string;
  readonly queues: readonly string[];
}

/** A fanout exchange, and queues of these settings that are bound to it. */
export const newFanout = async (c: Client, count: number, settings: QueueSettings = {}): Promise<Fanout> => {
  const exchange = unique("exchange");
  expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
  const queues = await newQueues(c, count, settings);
  for (const queue of queues) expectOk(await c.bind(exchange, { queue }), 201);
  return { exchange, queues };
};

/** The bodies that are available on each queue. */
export const standingOn = (c: Client, queues: readonly string[]): Promise<readonly (readonly string[])[]> =>
  Promise.all(queues.map((queue) => bodiesOf(c, queue)));
