/** Acquire: what is given, to whom, and in which order. */
import fc from "fast-check";
import { expect } from "vitest";
import type * as shapes from "../support/shapes.ts";
import { process, queue, rarely, someone, steps } from "./command.ts";
import type { Delivery, Message, Queue, Ref } from "./values.ts";
import { shortBody, tellBy, type World } from "./world.ts";

export interface Acquiring {
  readonly at: number;
  readonly queue: number;
  /** Rather a queue that has something to give. */
  readonly isAimed: boolean;
  readonly max: number;
  readonly leaseSeconds: number;
  readonly isRemoving: boolean;
}

export const acquiring = {
  at: process,
  queue,
  isAimed: fc.boolean(),
  max: fc.integer({ min: 1, max: 4 }),
  leaseSeconds: fc.constantFrom(0, 0, 5, 60),
};

export const acquire = steps("acquire", { ...acquiring, who: someone, isRemoving: rarely }, async (w, p) => {
  await acquireMessages(w, p, w.ref(p.who), undefined);
});

export const acquireMessages = async (
  w: World,
  p: Acquiring,
  by: Ref | undefined,
  xid: string | undefined,
): Promise<void> => {
  const giving = w.queues.filter((name) => w.broker.queues.has(name) && hasAvailable(w, name));
  const name = (p.isAimed ? giving[p.queue % giving.length] : undefined) ?? w.queues[p.queue] ?? "";
  await w.lookForLetters(name);
  const found = w.queue(name);
  const { max: maxMessages, leaseSeconds, isRemoving } = p;
  const how = {
    maxMessages,
    ...(leaseSeconds > 0 && { leaseSeconds }),
    ...(isRemoving && { settle: "none" as const }),
  };
  const answer = await w.client(p.at, by, xid).acquire(name, how);
  const told = answer.problem?.code ?? answer.body.deliveries.map(({ body }) => shortBody(body)).join(" ");
  w.note(`acquire ${name}${tellBy(by, xid)} ${JSON.stringify(how)} → ${told}`);
  const clash = xid !== undefined && isRemoving ? "command-invalid" : undefined;
  const isOut = xid !== undefined && w.workplace(xid, by) === undefined;
  const expected = w.broker.fence(by) ?? clash ?? (isOut ? "illegal-state" : undefined);
  if (w.isRefused(answer, expected ?? (found === undefined ? "not-found" : undefined)) || found === undefined) return;
  const leaseMs = isRemoving ? undefined : (leaseSeconds || found.settings.leaseSeconds) * 1000;
  take(w, found, answer.body.deliveries, maxMessages, leaseMs, by);
};

const hasAvailable = (w: World, name: string): boolean => {
  const found = w.queue(name);
  return found !== undefined && w.broker.available(found).length > 0;
};

/** Each partition gives its first available messages; the next one only when the one before has no more. */
export const take = (
  w: World,
  found: Queue,
  deliveries: readonly shapes.Delivery[],
  max: number,
  leaseMs: number | undefined,
  by: Ref | undefined,
): void => {
  const available = w.broker.available(found);
  expect(deliveries.length, "as many as there are").toBe(Math.min(max, available.length));
  const { partitions } = found.settings;
  const partitionOf = (d: shapes.Delivery) => Number(BigInt(d.sequence) % BigInt(partitions));
  const met = [...new Set(deliveries.map(partitionOf))];
  const order = met.flatMap((partition) => available.filter((m) => m.partition === partition));
  expect(deliveries.map(({ body }) => body)).toEqual(order.slice(0, deliveries.length).map((m) => m.body));
  for (const [i, told] of deliveries.entries()) {
    const m = order[i];
    if (m === undefined) continue;
    w.learn(m, told, found);
    const delivery = deliver(w, found, m, leaseMs, by);
    expect(told).toMatchObject({ redelivered: m.deliveries > 1, deliveryCount: m.deliveries });
    expect(told.leaseExpiresAt).toBe(
      leaseMs === undefined ? undefined : new Date(w.broker.nowMs + leaseMs).toISOString(),
    );
    if (leaseMs !== undefined) w.given.push({ deliveryId: told.deliveryId, delivery });
  }
  w.broker.settle();
};

const deliver = (
  w: World,
  queue: Queue,
  message: Message,
  leaseMs: number | undefined,
  by: Ref | undefined,
): Delivery => {
  message.deliveries += 1;
  if (leaseMs === undefined) w.broker.leave(queue, [message]);
  else Object.assign(message, { state: "leased", lease: { expiresAtMs: w.broker.nowMs + leaseMs, by } });
  return { message, queue, lease: message.lease };
};
