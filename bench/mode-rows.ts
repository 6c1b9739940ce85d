import { setTimeout as sleep } from "node:timers/promises";
import type { Row } from "./capacity-rows.ts";
import { type Client, client, type QueueSettings, type Units } from "./client.ts";
import { bodies, queueName } from "./material.ts";
import { exactly } from "./message-rows.ts";

/** How a session's messages come to a queue. */
interface Mode {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly isAsync: boolean;
  /** The most that the call itself may write. */
  readonly callerWru: number;
}

const modes: readonly Mode[] = [
  { name: "persisted, at once", settings: {}, isAsync: false, callerWru: 4 },
  { name: "persisted, as commands", settings: {}, isAsync: true, callerWru: 6 },
  { name: "not persisted", settings: { messageDurability: "never" }, isAsync: false, callerWru: 0 },
  {
    name: "not persisted, strict order",
    settings: { messageDurability: "never", strictOrder: true },
    isAsync: false,
    callerWru: 6,
  },
];

/** Calls of a measurement: what the first one makes for all of them counts as their share. */
const CALLS = 20;
const BYTES = 300;

const enqueueing = ({ name, settings, isAsync, callerWru }: Mode): Row => ({
  name: `enqueue of one small message in a session, ${name}`,
  measure: (service) =>
    service.whileConsuming(async () => {
      const c = client(service.baseUrl);
      const queue = queueName();
      await c.declare(queue, settings);
      const s = await c.attached();
      await s.enqueue(queue, bodies(1, BYTES));
      await settled(c, queue, 1);
      const sender = isAsync ? s.later() : s;
      const before = service.spent();
      const own = s.spent();
      for (let call = 0; call < CALLS; call++) await sender.enqueue(queue, bodies(1, BYTES));
      const caller = difference(s.spent(), own);
      if (isAsync) await s.sync();
      const all = await stillness(service.spent);
      await settled(c, queue, CALLS);
      return [
        { of: "WRU of the call", measured: caller.wru / CALLS, ceiling: callerWru },
        { of: "RRU of the call", measured: caller.rru / CALLS },
        { of: "WRU, the worker included", measured: (all.wru - before.wru) / CALLS },
        { of: "RRU, the worker included", measured: (all.rru - before.rru) / CALLS },
      ];
    }),
});

const accepting: Row = {
  name: "accept of one small message, as a command",
  measure: (service) =>
    service.whileConsuming(async () => {
      const c = client(service.baseUrl);
      const queue = queueName();
      await c.declare(queue);
      const s = await c.attached();
      for (let call = 0; call <= CALLS; call++) await c.enqueue(queue, bodies(1, BYTES));
      const [first, ...deliveries] = await exactly(c, queue, CALLS + 1);
      if (first !== undefined) await s.later().accept([first]);
      await s.sync();
      const before = await stillness(service.spent);
      const own = s.spent();
      for (const delivery of deliveries) await s.later().accept([delivery]);
      const caller = difference(s.spent(), own);
      await s.sync();
      const all = await stillness(service.spent);
      return [
        { of: "WRU of the call", measured: caller.wru / CALLS, ceiling: 6 },
        { of: "WRU, the worker included", measured: (all.wru - before.wru) / CALLS },
        { of: "RRU, the worker included", measured: (all.rru - before.rru) / CALLS },
      ];
    }),
};

/** The counter once nothing has been spent for a while: the workers have come to rest. */
const stillness = async (spent: () => Units): Promise<Units> => {
  for (let last = spent(); ; ) {
    await sleep(300);
    const now = spent();
    if (now.wru === last.wru && now.rru === last.rru) return now;
    last = now;
  }
};

/** Takes and removes so many messages, waiting for those that are on their way. */
const settled = async (c: Client, queue: string, count: number): Promise<void> => {
  for (let left = count; left > 0; ) {
    const some = await c.acquire(queue, left);
    if (some.length > 0) await c.accept(some);
    else await sleep(20);
    left -= some.length;
  }
};

const difference = (after: Units, before: Units): Units => ({
  wru: after.wru - before.wru,
  rru: after.rru - before.rru,
});

export const modeRows: readonly Row[] = [...modes.map(enqueueing), accepting];
