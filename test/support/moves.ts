import { expect } from "vitest";
import type { Client } from "./client.ts";
import type { Answer } from "./http.ts";
import { unique } from "./names.ts";
import type { ProblemCode } from "./problems.ts";
import type { BrowsedMessage, Delivery, MessageInput, QueueSettings } from "./shapes.ts";

/** Fails unless the call succeeded with this HTTP status (default 200), and says with which problem it was refused. */
export function expectOk<Body>(answer: Answer<Body>, httpStatus = 200): Body {
  expect({ status: answer.status, problem: answer.problem }).toEqual({ status: httpStatus, problem: undefined });
  return answer.body;
}

/** Fails unless the call was refused with this code; the rest of the problem was checked when it came in. */
export function expectRefused(answer: Answer<unknown>, code: ProblemCode): void {
  const got = answer.problem?.code ?? `${answer.status} ${JSON.stringify(answer.body)}`;
  expect(got, answer.problem?.detail).toBe(code);
  if (code !== "invalid-argument") return;
  // It says where, in words of the service's own.
  const errors = answer.problem?.errors ?? [];
  expect(errors, answer.problem?.detail).not.toEqual([]);
  for (const { message } of errors) expect(message).not.toMatch(/invalid|expected|received/i);
}

/** Fails unless the dtx verb answered HTTP 200 with this XA status. */
export function expectXa(answer: Answer<{ xa: string }>, xa: string): void {
  expect(expectOk(answer).xa).toBe(xa);
}

/** Declares queues of unique names with the same settings. */
export async function newQueues(c: Client, count: number, settings: QueueSettings = {}): Promise<string[]> {
  const queues = Array.from({ length: count }, () => unique());
  await Promise.all(queues.map(async (queue) => expectOk(await c.declare(queue, settings), 201)));
  return queues;
}

/** Declares one queue and enqueues these bodies. */
export async function newQueue(
  c: Client,
  bodies: readonly string[] = [],
  settings: QueueSettings = {},
): Promise<string> {
  const queue = unique();
  expectOk(await c.declare(queue, settings), 201);
  if (bodies.length > 0) await enqueueBodies(c, queue, bodies);
  return queue;
}

/** Attaches a session of a unique name. */
export const newSession = (c: Client, timeoutSeconds?: number): Promise<Client> =>
  c.attached(unique("session"), timeoutSeconds);

/** Enqueues these bodies in order, up to 500 a call; in a branch if the client works in one. */
export async function enqueueBodies(c: Client, queue: string, bodies: readonly string[]): Promise<void> {
  for (let i = 0; i < bodies.length; i += 500) {
    const messages = bodies.slice(i, i + 500).map((body) => ({ body }));
    const enqueued = expectOk(await c.enqueue(queue, messages), 201);
    expect(enqueued.completed).toBe(c.context.xid === undefined);
  }
}

/** Takes up to `count` messages under a lease. */
export async function take(c: Client, queue: string, count = 1, leaseSeconds?: number): Promise<readonly Delivery[]> {
  const body = { maxMessages: count, ...(leaseSeconds === undefined ? {} : { leaseSeconds }) };
  return expectOk(await c.acquire(queue, body)).deliveries;
}

/** Takes exactly `count` messages and accepts them, in the client's branch if it works in one. */
export async function consume(c: Client, queue: string, count = 1): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = [];
  while (deliveries.length < count) {
    const some = await take(c, queue, Math.min(500, count - deliveries.length), 300);
    expect(some.length, `${queue} gave ${deliveries.length} of ${count}`).toBeGreaterThan(0);
    await acceptAll(c, some);
    deliveries.push(...some);
  }
  return deliveries;
}

/** Accepts deliveries and requires the outcome `accepted` for each. */
export async function acceptAll(c: Client, deliveries: readonly Delivery[]): Promise<void> {
  const { outcomes } = expectOk(await c.accept(deliveries.map((delivery) => delivery.deliveryId)));
  expect(outcomes.map((outcome) => outcome.status)).toEqual(deliveries.map(() => "accepted"));
}

/** The move of the dtx rows: takes one message from `from`, accepts it in the client's branch, publishes its copy to `to`. */
export async function swap(c: Client, from: string, to: string): Promise<Delivery> {
  const [delivery] = await consume(c, from);
  if (delivery === undefined) throw new Error(`nothing to take from ${from}`);
  const copy: MessageInput = { body: delivery.body, messageId: delivery.messageId };
  expectOk(await c.enqueue(to, [copy]), 201);
  return delivery;
}

/** Everything available on a queue, in order, without taking it. */
export async function browseAll(c: Client, queue: string): Promise<BrowsedMessage[]> {
  const messages: BrowsedMessage[] = [];
  let cursor: string | undefined;
  do {
    const page = expectOk(await c.browse(queue, { limit: 500, ...(cursor === undefined ? {} : { cursor }) }));
    messages.push(...page.messages);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return messages;
}

/** The bodies of everything available on a queue, in order, without taking it. */
export const bodiesOf = async (c: Client, queue: string): Promise<string[]> =>
  (await browseAll(c, queue)).map((message) => message.body);

/** Removes everything that a queue gives, in order, at most 200 calls. */
export async function drain(c: Client, queue: string): Promise<Delivery[]> {
  const drained: Delivery[] = [];
  for (let calls = 0; calls < 200; calls += 1) {
    const { deliveries } = expectOk(await c.acquire(queue, { maxMessages: 500, settle: "none" }));
    if (deliveries.length === 0) return drained;
    drained.push(...deliveries);
  }
  throw new Error(`${queue} was not empty after 200 calls`);
}

/** How many messages a queue counts as available, leased and held. */
export async function countsOf(c: Client, queue: string): Promise<{ available: number; leased: number; held: number }> {
  const { available, leased, held } = await c.stats(queue);
  return { available: Number(available), leased: Number(leased), held: Number(held) };
}

/** The `available` counts of queues, in the order given. */
export const availableOn = async (c: Client, ...queues: string[]): Promise<number[]> =>
  Promise.all(queues.map(async (queue) => (await countsOf(c, queue)).available));

/** The state that `GET /dtx/{xid}` tells; `none` when it knows nothing of the xid. */
export async function stateOf(c: Client, xid: string): Promise<string> {
  const answer = await c.getBranch(xid);
  if (answer.problem === undefined) return answer.body.state;
  expectRefused(answer, "not-found");
  return "none";
}

/** Starts a branch in the client's session and answers a client that works in it. */
export async function begin(s: Client, xid: string, timeoutSeconds?: number): Promise<Client> {
  const flags = timeoutSeconds === undefined ? {} : { timeoutSeconds };
  expect(expectOk(await s.start(xid, flags))).toMatchObject({ xa: "XA_OK", state: "active" });
  return s.within(xid);
}

/** Ends the session's association, prepares, and requires XA_OK of both. */
export async function endAndPrepare(s: Client, xid: string): Promise<void> {
  expectXa(await s.end(xid), "XA_OK");
  expectXa(await s.prepare(xid), "XA_OK");
}

/** Repeats a call while the service says that the work goes on (503, retryable), at most 60 times. */
export async function untilDone<Body>(call: () => Promise<Answer<Body>>): Promise<Answer<Body>> {
  for (let calls = 0; calls < 60; calls += 1) {
    const answer = await call();
    if (answer.problem?.code !== "unavailable") return answer;
  }
  throw new Error("still unavailable after 60 calls");
}
