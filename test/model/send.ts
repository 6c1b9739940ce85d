/** Calls that are stored as commands of their session, and the work that does them. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type Client, deferred } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { browseAll, expectOk } from "../support/moves.ts";
import type { Problem } from "../support/problems.ts";
import type { Completion } from "../support/shapes.ts";
import type { Check, Open, Touch } from "./line.ts";
import type { Message, Queue, Ref } from "./values.ts";
import type { World } from "./world.ts";

/** Sends a call: at once or, by a session that asks for that, as a command of it. */
export const send = async <T>(
  w: World,
  how: { readonly at: number; readonly later: Ref | undefined; readonly said: string; readonly touch: Touch },
  call: (c: Client) => Promise<Answer<T>>,
  check: Check<T>,
): Promise<void> => {
  const { at, later: by, said } = how;
  if (by !== undefined) {
    await sendLater(w, { ...how, by }, call, check);
    return;
  }
  const answer = await call(w.client(at));
  w.note(said, answer);
  check(answer);
};

/** Stores a call as a command: the answer that says so, undefined when it was refused. */
export const sendLater = async <T>(
  w: World,
  { at, by, said, touch }: { readonly at: number; readonly by: Ref; readonly said: string; readonly touch: Touch },
  call: (c: Client) => Promise<Answer<T>>,
  check: Check<T>,
): Promise<Answer<unknown> | undefined> => {
  if (!w.line.hasPlaceFor(by.name, touch)) await work(w);
  const answer: Answer<unknown> = await call(w.client(at, by).later);
  w.note(`later by ${by.name}@${by.epoch}: ${said}`, answer);
  if (w.isRefused(answer, w.broker.fence(by))) return undefined;
  expect(deferred(answer)).toBe(String(w.line.add(by, touch, "session", check as Check<never>)));
  return answer;
};

/** Until the session has so many open commands: a call that waits for one has then stored it. */
export const untilOpen = async (w: World, session: string, count: number): Promise<void> => {
  for (let round = 0; round < 1000; round++) {
    if (expectOk(await w.client(0).getSession(session)).incompleteCommands === String(count)) return;
    await sleep(5);
  }
  throw new Error(`session ${session} never had ${count} open commands`);
};

/** Lets the worker work, and holds what it did against the reference: the session's commands in order, then the rest. */
export const work = async (w: World): Promise<void> => {
  const { open, onTheWay } = w.line;
  if (open.length === 0 && onTheWay.length === 0) return;
  for (const name of w.queues) await w.lookForLetters(name);
  await w.runWorker();
  w.line.open = [];
  const completions = await completionsOf(w, open);
  for (const one of open) {
    const answer = typeof one.audience === "object" ? await one.audience : completions.get(one.id);
    w.note(`  ${one.by.name}'s ${one.id}`, answer);
    one.check(answer as Answer<never> | undefined);
  }
  for (const { queue, messages } of w.line.onTheWay.splice(0)) arrive(w, queue, messages);
  w.broker.settle();
  for (const queue of w.broker.queues.values()) await find(w, queue);
};

/** What the session may read of them: of each that it is to be told, one, and of no other. */
const completionsOf = async (w: World, open: readonly Open[]): Promise<ReadonlyMap<number, Answer<unknown>>> => {
  const [first] = open;
  if (first === undefined) return new Map();
  const { name } = first.by;
  const told = open.filter(
    ({ by, audience }) => audience === "session" && !w.broker.detached.has(`${by.name}@${by.epoch}`),
  );
  const page = expectOk(await w.client(0).completions(name, { after: String(first.id - 1) }));
  expect(page.completions.map(({ commandId }) => commandId)).toEqual(told.map(({ id }) => String(id)));
  expect(page.completedThrough).toBe(String(w.line.highest(name)));
  for (const one of told) w.line.tell(one, w.broker.nowMs);
  return new Map(page.completions.map((completion) => [Number(completion.commandId), answerOf(completion)]));
};

/** A completion is what the call would have answered. */
const answerOf = ({ status, body }: Completion): Answer<unknown> => ({
  status,
  body,
  problem: status < 400 ? undefined : (body as Problem),
  headers: new Headers(),
  receipt: { wru: 0, rru: 0 },
});

/** A queue that is gone takes nothing; a full one counts what it drops. */
const arrive = (w: World, queue: Queue, messages: readonly Message[]): void => {
  if (queue.deletedAtMs !== undefined) return;
  if (w.broker.enqueue(new Map([[queue, messages]])) === undefined) drop(queue, messages);
};

/** They were enqueued and are settled at once. */
export const drop = (queue: Queue, messages: readonly Message[]): void => {
  queue.enqueued += messages.length;
  queue.settled.push(...messages);
};

/** What no answer has told: the ids of what nobody hears of, and without a session the partition. */
const find = async (w: World, queue: Queue): Promise<void> => {
  const open = queue.messages.filter(({ partition, id, state }) => state !== "held" && (partition === -1 || !id));
  if (open.length === 0) return;
  const browsed = await browseAll(w.client(0), queue.name);
  for (const message of open) {
    const found = browsed.find(({ body }) => body === message.body);
    expect(found, `${message.body} on ${queue.name}`).toBeDefined();
    if (found !== undefined) w.learn(message, found, queue);
  }
};
