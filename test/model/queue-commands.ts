/** The calls on queues: declare, delete, purge, stats, list and browse. */
import fc from "fast-check";
import { expect } from "vitest";
import { browseAll, expectOk } from "../support/moves.ts";
import type { QueueStats } from "../support/shapes.ts";
import { later, process, queue, rarely, steps } from "./command.ts";
import { send } from "./send.ts";
import { choices, type Settings, settingsOf } from "./settings.ts";
import type { Queue, Ref } from "./values.ts";
import { shortBody, type World } from "./world.ts";

export const declare = steps("declare", { at: process, queue, choice: choices, later }, async (w, p) => {
  await declareQueue(w, w.queues[p.queue] ?? "", p.choice, p.at, w.ref(p.later));
});

export const declareQueue = async (w: World, name: string, choice: number, at: number, later?: Ref): Promise<void> => {
  await w.lookForLetters(name);
  const settings = settingsOf(choice, name);
  const said = `declare ${name} ${JSON.stringify(settings)}`;
  await send(
    w,
    { at, later, said, touch: touchOf(name) },
    (c) => c.declare(name, settings),
    (answer) => {
      const before = w.queue(name);
      const isSame = before !== undefined && JSON.stringify(before.settings) === JSON.stringify(settings);
      if (w.isRefused(answer, before === undefined || isSame ? undefined : "precondition-failed")) return;
      if (answer !== undefined) {
        expect(answer.status).toBe(isSame ? 200 : 201);
        expect(answer.body).toEqual({ queue: name, ...settings });
      }
      if (before === undefined) w.broker.queues.set(name, newQueue(name, settings));
    },
  );
};

export const touchOf = (queue: string) => ({ isAlone: queue.endsWith(".dead") });

const newQueue = (name: string, settings: Settings): Queue => ({
  name,
  settings,
  firsts: new Map(),
  messages: [],
  enqueued: 0,
  repeats: [],
  settled: [],
  dead: [],
});

export const deleteQueue = steps(
  "delete",
  { at: process, queue, ifEmpty: rarely, ifUnused: rarely, later },
  async (w, { at, ifEmpty, ifUnused, ...p }) => {
    const name = w.queues[p.queue] ?? "";
    await w.lookForLetters(name);
    const said = `delete ${name} ${JSON.stringify({ ifEmpty, ifUnused })}`;
    // Whether it is bound says the exchange, which other commands may be about to change.
    const touch = { isAlone: name.endsWith(".dead") || ifUnused };
    await send(
      w,
      { at, later: w.ref(p.later), said, touch },
      (c) => c.deleteQueue(name, { ifEmpty, ifUnused }),
      (answer) => {
        const found = w.queue(name);
        const bound = [...w.broker.exchanges.values()].flatMap(({ bindings }) => bindings.map((b) => b.queue));
        const isUsed =
          found !== undefined && (bound.includes(found) || found.messages.some((m) => m.state !== "available"));
        const hasFailed = (ifEmpty && found && found.messages.length > 0) || (ifUnused && isUsed);
        const expected = found === undefined ? "not-found" : hasFailed ? "precondition-failed" : undefined;
        if (w.isRefused(answer, expected) || found === undefined) return;
        w.broker.queues.delete(name);
        w.broker.deleted.push(Object.assign(found, { deletedAtMs: w.broker.nowMs }));
        w.broker.settle();
      },
    );
  },
);

export const purge = steps("purge", { at: process, queue }, async (w, p) => {
  const name = w.queues[p.queue] ?? "";
  await w.lookForLetters(name);
  const found = w.queue(name);
  const answer = await w.client(p.at).purge(name);
  w.note(`purge ${name}`, answer);
  if (w.isRefused(answer, found === undefined ? "not-found" : undefined) || found === undefined) return;
  const available = w.broker.available(found);
  expect(answer.body).toEqual({ purged: available.length, more: false });
  w.broker.leave(found, available);
});

export const stats = steps("stats", { at: process, queue }, async (w, p) => {
  await checkStats(w, w.queues[p.queue] ?? "", p.at);
});

/** Holds the settings and the counts of a queue against the reference. */
export const checkStats = async (w: World, name: string, at: number): Promise<void> => {
  await w.lookForLetters(name);
  const found = w.queue(name);
  const answer = await w.client(at).getQueue(name);
  w.note(`stats ${name}`, answer);
  if (w.isRefused(answer, found === undefined ? "not-found" : undefined) || found === undefined) return;
  const { queue: told, stats: counts, ...settings } = answer.body;
  expect({ queue: told, ...settings }).toEqual({ queue: name, ...found.settings });
  const held = found.messages.filter((m) => m.state === "held").length;
  const available = w.broker.available(found);
  const leased = found.messages.length - held - available.length;
  expect(counts).toMatchObject({
    available: String(available.length),
    leased: String(leased),
    held: String(held),
  });
  const oldestMs = Math.min(...available.map((m) => m.putAtMs));
  // When a letter came to a dead-letter queue is not told.
  const isLate = found.name.endsWith(".dead");
  const ageSeconds = available.length === 0 ? null : Math.floor((w.broker.nowMs - oldestMs) / 1000);
  if (ageSeconds === null || !isLate) expect(counts.oldestAgeSeconds).toBe(ageSeconds);
  checkCounters(w, found, counts);
};

/**
 * The counters of the past. What time has ended is counted by whoever meets it, so it may be missing until then; what a
 * commit dropped as a repeat has taken a place, and may be counted as enqueued.
 */
const checkCounters = (w: World, queue: Queue, told: QueueStats): void => {
  const [enqueued, settled, dead] = [Number(told.enqueued), Number(told.settled), Number(told.deadLettered)];
  expect(Number(told.changeCounter)).toBe(enqueued + settled + dead);
  const onTheirWay = w.broker.due.filter(({ from }) => from === queue).flatMap(({ messages }) => messages).length;
  const unmet = queue.settled.filter(({ isEnded }) => isEnded).length;
  const gone = queue.settled.length + queue.dead.length;
  expectBetween("enqueued", enqueued, queue.enqueued, queue.enqueued + queue.repeats.length);
  expectBetween("dead letters", dead, queue.dead.length, queue.dead.length + onTheirWay);
  expectBetween("settled and dead", settled + dead, gone - unmet, gone + onTheirWay);
};

const expectBetween = (what: string, told: number, least: number, most: number): void => {
  expect(told, `${what}: at least ${least}`).toBeGreaterThanOrEqual(least);
  expect(told, `${what}: at most ${most}`).toBeLessThanOrEqual(most);
};

export const list = steps("list", { at: process }, async (w, p) => {
  const answer = await w.client(p.at).listQueues({ prefix: w.prefix });
  w.note("list", answer);
  const names = [...w.broker.queues.keys()].toSorted();
  expect(expectOk(answer).queues.map((q) => q.queue)).toEqual(names);
});

export const browse = steps("browse", { at: process, queue, after: fc.nat(3) }, async (w, p) => {
  const name = w.queues[p.queue] ?? "";
  await w.lookForLetters(name);
  const found = w.queue(name);
  if (found === undefined) {
    const answer = await w.client(p.at).browse(name);
    w.note(`browse ${name}`, answer);
    w.isRefused(answer, "not-found");
    return;
  }
  const browsed = await browseAll(w.client(p.at), name);
  w.note(`browse ${name} → ${browsed.map(({ body }) => shortBody(body)).join(" ")}`);
  const sequences = browsed.map(({ sequence }) => BigInt(sequence));
  expect(sequences).toEqual(sequences.toSorted((a, b) => (a < b ? -1 : 1)));
  const available = w.broker.available(found);
  expect(browsed.length).toBe(available.length);
  for (const partition of found.settings.partitions === 2 ? [0, 1] : [0]) {
    const expected = available.filter((m) => m.partition === partition);
    const here = browsed.filter(
      ({ sequence }) => Number(BigInt(sequence) % BigInt(found.settings.partitions)) === partition,
    );
    expect(here.map(({ body }) => body)).toEqual(expected.map((m) => m.body));
    for (const [i, m] of expected.entries()) w.learn(m, here[i] ?? { messageId: "" }, found);
  }
  const at = sequences[p.after];
  if (at === undefined) return;
  const rest = expectOk(await w.client(p.at).browse(name, { after: String(at) })).messages;
  expect(rest.map((m) => m.sequence)).toEqual(browsed.slice(p.after + 1).map((m) => m.sequence));
});
