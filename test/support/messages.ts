import { randomBytes } from "node:crypto";
import { changeRun } from "../../shared/commands/change-run.ts";
import { buildRun } from "../../shared/commands/new-run.ts";
import { loadMessages } from "../../shared/commands/payload.ts";
import { declareQueue } from "../../shared/commands/queues/declare.ts";
import { getQueue } from "../../shared/commands/queues/get.ts";
import { runsOf } from "../../shared/commands/runs.ts";
import type { Delivery } from "../../shared/domain/delivery.ts";
import type { Message, Properties } from "../../shared/domain/message.ts";
import { defaultSettings, partitionsOf, type Queue, type QueueSettings } from "../../shared/domain/queue.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { lease, messageIdOf, type Run } from "../../shared/domain/run.ts";
import type { SessionRef } from "../../shared/domain/session.ts";
import { runKey } from "../../shared/records/keys.ts";
import { addFlow, countEnqueued, moveCapacity, noFlow, positionFrom } from "../../shared/records/queue.ts";
import { putNewRun, readRun, writeRun } from "../../shared/records/run.ts";
import type { TestCall } from "./table.ts";

let names = 0;

/** A queue name that no other test uses. */
export const freshName = (word = "q"): string => `${word}-${++names}`;

export const declared = async (
  call: TestCall,
  settings: Partial<QueueSettings> = {},
  name = freshName(),
): Promise<Queue> => {
  const answer = await declareQueue(call, name, { ...defaultSettings, ...settings });
  if (isRefusal(answer)) throw new Error(answer.detail);
  return answer.queue;
};

export const messageOf = (body: string, properties: Partial<Properties> = {}): Message => ({
  body: Buffer.from(body),
  properties: { bodyEncoding: "utf8", deliveryMode: "persistent", ...properties },
});

/** Puts messages on a queue as one run, as an enqueue does. */
export const put = async (
  call: TestCall,
  queue: Queue,
  messages: readonly (string | Message)[],
  partition = 0,
): Promise<Run> => {
  const ref = { name: queue.name, generation: queue.generation, partition };
  const all = messages.map((message) => (typeof message === "string" ? messageOf(message) : message));
  const counted = await call.store.count(countEnqueued(ref, all.length));
  if (counted === undefined) throw new Error(`queue ${queue.name} is closed`);
  const run = await buildRun(call, queue, partition, positionFrom(counted, all.length), all, call.now());
  const inBytes = all.reduce((sum, { body }) => sum + body.length, 0);
  const flow = addFlow(noFlow, { inMessages: all.length, inBytes });
  const commit = await call.store.commit([putNewRun(run), ...moveCapacity(queue, flow)]);
  if (!commit.done) throw new Error(`queue ${queue.name} took no run`);
  return run;
};

/** Delivers messages of a run under one lease, all of them unless told which. */
export const take = async (
  call: TestCall,
  run: Run,
  how: { readonly indexes?: readonly number[]; readonly leaseSeconds?: number; readonly session?: SessionRef } = {},
): Promise<readonly Delivery[]> => {
  const before = await reread(call, run);
  if (before === undefined) throw new Error("the run is gone");
  const token = randomBytes(6).toString("base64url");
  const indexes = how.indexes ?? [...before.slots.keys()];
  const after = lease(before, indexes, {
    token,
    expiresAtMs: call.now() + (how.leaseSeconds ?? 30) * 1000,
    ...(how.session !== undefined && { session: how.session }),
  });
  const commit = await call.store.commit([writeRun(before, after)]);
  if (!commit.done) throw new Error("the run moved");
  return indexes.map((index) => ({ run: run.key, index, token }));
};

export const reread = async (call: TestCall, run: Run): Promise<Run | undefined> => {
  const item = await call.store.read(runKey(run.key));
  return item && readRun(item, run.key);
};

/** Replaces a run's record, as a change by someone else. */
export const replace = async (call: TestCall, queue: Queue, before: Run, after: Run): Promise<void> => {
  const changed = await changeRun(call, queue, before, after, []);
  if (!changed.done) throw new Error("the run moved");
};

/** What stands on a queue, in order, whatever its state; settled messages are not there. */
export const standing = async (
  call: TestCall,
  queue: Queue,
): Promise<readonly { readonly messageId: string; readonly body: string; readonly properties: Properties }[]> => {
  const all = [];
  for (const partition of partitionsOf(queue)) {
    for await (const run of runsOf(call, partition)) {
      const indexes = [...run.slots.keys()].filter((index) => run.slots[index]?.state !== "settled");
      const messages = await loadMessages(call, run.payload, indexes);
      for (const index of indexes) {
        const message = messages.get(index);
        if (message === undefined) throw new Error(`message ${index} has no body`);
        const messageId = message.properties.messageId ?? messageIdOf(run.messageIdBase, index);
        all.push({ messageId, body: Buffer.from(message.body).toString(), properties: message.properties });
      }
    }
  }
  return all;
};

export const bodiesOn = async (call: TestCall, queue: Queue): Promise<readonly string[]> =>
  (await standing(call, queue)).map(({ body }) => body);

/** The counters of a queue, as numbers. */
export const counts = async (call: TestCall, queue: Queue) => {
  const got = await getQueue(call, queue.name);
  if (isRefusal(got)) throw new Error(got.detail);
  const { available, leased, held, enqueued, settled, deadLettered } = got.stats;
  return {
    available: Number(available),
    leased: Number(leased),
    held: Number(held),
    enqueued: Number(enqueued),
    settled: Number(settled),
    deadLettered: Number(deadLettered),
  };
};
