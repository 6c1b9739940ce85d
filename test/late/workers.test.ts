import { describe, expect, test } from "vitest";
import { type Client, deferred } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { useInProcessService } from "../support/in-process.ts";
import { expectOk, newQueue } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import type { Stage } from "./late.ts";
import { attached, fanout, LARGE, leased } from "./scenes.ts";
import { newStage } from "./stage.ts";
import { changesButCounters, snapshotOf } from "./table.ts";
import { callsOf, underWay } from "./under-way.ts";

const service = useInProcessService();

/** What a session sends that a worker does; the client is in the session. */
type Sending = (session: Client, stage: Stage) => Promise<unknown>;

const later = (send: (later: Client, stage: Stage) => Promise<Answer<unknown>>): Sending => {
  return async (session, stage) => deferred(await send(session.later, stage));
};

const NEVER = { messageDurability: "never" } as const;

const handsOn =
  (body: string): Sending =>
  async (session, { others }) => {
    expectOk(await session.enqueue(await newQueue(others, [], NEVER), [{ body }]), 202);
  };

const sendings: Readonly<Record<string, Sending>> = {
  "an enqueue": later(async (c, { others }) => c.enqueue(await newQueue(others), [{ body: "1" }, { body: "2" }])),
  "a large enqueue": later(async (c, { others }) => c.enqueue(await newQueue(others), [{ body: LARGE }])),
  "a publish, part of which need not be stored": later(async (c, { others }) => {
    const { exchange } = await fanout(others);
    expectOk(await others.bind(exchange, { queue: await newQueue(others, [], NEVER) }), 201);
    return c.publish(exchange, [{ body: LARGE }]);
  }),
  "an accept on two queues": later(async (c, { others }) => {
    const [first, second] = [await leased(others, ["1", "2"], {}, 300), await leased(others, ["3"], {}, 300)];
    return c.accept([...first.ids, ...second.ids]);
  }),
  "a reject": later(async (c, { others }) => {
    const deadLetterQueue = await newQueue(others);
    return c.reject((await leased(others, [LARGE, "2"], { deadLetterQueue }, 300)).ids);
  }),
  "a declaration": later((c) => c.declare(unique())),
  "a deletion": later(async (c, { others }) => c.deleteQueue(await newQueue(others, ["1"]))),
  "a binding": later(async (c, { others }) =>
    c.bind((await fanout(others)).exchange, { queue: await newQueue(others) }),
  ),
  "the deletion of an exchange": later(async (c, { others }) => c.deleteExchange((await fanout(others)).exchange)),
  "messages that need not be stored": handsOn("1"),
  "messages that need not be stored and lie in the table": handsOn("x".repeat(260_000)),
};

describe("a worker that was held at any call of the table, while another one did the same, writes nothing after it:", () => {
  test.for(Object.entries(sendings))("%s", { timeout: 60_000 }, async ([name, send]) => {
    const stage = await newStage(service);
    const [process, other] = [await service.process("late"), await service.process("others")];
    const newMessages = async () => {
      await service.queues.drain(service.tableName);
      await send(await attached(stage), stage);
      return service.queues.drain(service.tableName);
    };
    const messages = await newMessages();
    const calls = await callsOf(process, () => process.deliver(messages));
    for (const index of calls) {
      const queued = await newMessages();
      const work = async (): Promise<Answer<unknown>> => ({
        ...(await stage.others.health()),
        body: { undone: await process.deliver(queued) },
      });
      const held = await underWay(process, index, work);
      if (held === undefined) continue;
      expect(await other.deliver(queued)).toBe(0);
      const before = await snapshotOf(service);
      const { body } = await held.goOn();
      const changes = changesButCounters(before, await snapshotOf(service)).filter(
        (change) => !held.madeItself(change),
      );
      // Closed with what it deleted, it goes on to sweep that, as the schedule would.
      if (name.includes("deletion") && held.hadWritten) continue;
      const where = `held at call ${index}, ${held.what}`;
      expect({ where, changes, ...(body as object) }).toEqual({ where, changes: [], undone: 0 });
    }
    expect(calls.length).toBeGreaterThan(2);
  });
});
