import { expect } from "vitest";
import type { Client } from "./client.ts";
import { availableOn, begin, drain, newQueue, newSession, swap } from "./moves.ts";
import { newXid } from "./names.ts";
import type { Delivery } from "./shapes.ts";

/** A branch, still active in session `s1`, in which one message has moved from queue `a` to queue `b`. */
export interface Swapped {
  readonly c: Client;
  readonly s1: Client;
  readonly xid: string;
  readonly a: string;
  readonly b: string;
  readonly moved: Delivery;
}

/** Makes the session, the queues and the branch; while it is open neither queue has anything to give. */
export async function swapped(c: Client): Promise<Swapped> {
  const s1 = await newSession(c);
  const [a, b] = [await newQueue(c, ["the message"]), await newQueue(c)];
  const xid = newXid();
  const moved = await swap(await begin(s1, xid), a, b);
  expect(await availableOn(c, a, b)).toEqual([0, 0]);
  return { c, s1, xid, a, b, moved };
}

/** The branch was committed: a gives nothing, b the same message. Empties both queues. */
export async function expectMoved({ c, a, b, moved }: Swapped): Promise<void> {
  expect(await availableOn(c, a, b)).toEqual([0, 1]);
  expect(await drain(c, a)).toEqual([]);
  expect(await drain(c, b)).toMatchObject([{ body: moved.body, messageId: moved.messageId, redelivered: false }]);
}

/** The branch was rolled back: a gives the message from its old position, b nothing. Empties both queues. */
export async function expectBack({ c, a, b, moved }: Swapped): Promise<void> {
  expect(await availableOn(c, a, b)).toEqual([1, 0]);
  expect(await drain(c, b)).toEqual([]);
  const { body, messageId, sequence } = moved;
  expect(await drain(c, a)).toMatchObject([{ body, messageId, sequence, redelivered: true, deliveryCount: 2 }]);
}
