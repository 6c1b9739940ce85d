import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Client, deferred } from "../support/client.ts";
import { commitsOn, holdCalls } from "../support/held-calls.ts";
import { type InProcess, useInProcessService } from "../support/in-process.ts";
import { bodiesOf, expectOk, newQueue, newSession } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import type { MessageInput, QueueSettings } from "../support/shapes.ts";

const service = useInProcessService();

const persistent = (body: string): MessageInput => ({ body });
const transient = (body: string): MessageInput => ({ body, deliveryMode: "transient" });

const fresh = async (): Promise<InProcess> => {
  const one = await service.process("one");
  await one.restart();
  return one;
};

const durabilities = ["always", "never", "default", "default"] as const;

/** A fanout exchange with a queue for each of these settings. */
const fanout = async (c: Client, settings: readonly QueueSettings[]) => {
  const exchange = unique("exchange");
  expectOk(await c.declareExchange(exchange, { type: "fanout" }), 201);
  const queues: string[] = [];
  for (const one of settings) {
    const queue = await newQueue(c, [], one);
    expectOk(await c.bind(exchange, { queue }), 201);
    queues.push(queue);
  }
  return { exchange, queues };
};

/** Lets the workers of a process work while the test does something. */
const whileWorking = async <T>(one: InProcess, work: () => Promise<T>): Promise<T> => {
  let isDone = false;
  const working = (async () => {
    while (!isDone) {
      await one.runWorker();
      await sleep(5);
    }
    await one.runWorker();
  })();
  try {
    return await work();
  } finally {
    isDone = true;
    await working;
  }
};

/** The queues on which a call that was answered so stored its message. */
const storedOn = (answer: { messages: readonly { queues: readonly { queue: string; sequence?: string }[] }[] }) =>
  (answer.messages[0]?.queues ?? []).flatMap(({ queue, sequence }) => (sequence === undefined ? [] : [queue]));

describe("DUR: the one decision whether a message is persisted", () => {
  for (const [id, message, kept] of [
    ["DUR-1", persistent("m"), [0, 2, 3]],
    ["DUR-2", transient("m"), [0]],
  ] as const) {
    test(`${id}: a ${message.deliveryMode ?? "persistent"} message to four queues: each one's policy decides for it`, async () => {
      const one = await fresh();
      const { exchange, queues } = await fanout(
        one.client,
        durabilities.map((messageDurability) => ({ messageDurability })),
      );
      const answer = expectOk(await one.client.publish(exchange, [message]), 201);
      expect(answer.completed).toBe(true);
      expect(answer.messages[0]?.queues.map(({ queue }) => queue).toSorted()).toEqual(queues.toSorted());
      const stored = queues.filter((_, i) => (kept as readonly number[]).includes(i));
      expect(storedOn(answer).toSorted()).toEqual(stored.toSorted());
      for (const queue of queues)
        expect(await bodiesOf(one.client, queue)).toEqual(stored.includes(queue) ? ["m"] : []);
      await one.runWorker();
      for (const queue of queues) expect(await bodiesOf(one.client, queue)).toEqual(["m"]);
    });
  }

  test("what need not be persisted costs the caller no write, and the same key puts it once", async () => {
    const one = await fresh();
    const queue = await newQueue(one.client, [], { messageDurability: "never" });
    const answer = await one.client.enqueue(queue, [transient("1"), persistent("2")]);
    expect(expectOk(answer, 202)).toMatchObject({ completed: true, messages: [{ queues: [{ queue }] }, {}] });
    expect(answer.receipt.wru).toBe(0);
    const key = { "idempotency-key": unique("key") };
    const first = expectOk(await one.client.enqueue(queue, [transient("3")], key), 202);
    expect(expectOk(await one.client.enqueue(queue, [transient("3")], key), 202)).toEqual(first);
    await one.runWorker("twice");
    expect((await bodiesOf(one.client, queue)).toSorted()).toEqual(["1", "2", "3"]);
  });

  test("a body larger than a message of the command queue comes too, in order", async () => {
    const one = await fresh();
    const s = await newSession(one.client);
    const queue = await newQueue(one.client, [], { messageDurability: "never" });
    const bodies = ["first", "x".repeat(900_000), "y".repeat(200_000), "z".repeat(200_000), "last"];
    for (const body of bodies) expectOk(await s.enqueue(queue, [transient(body)]), 202);
    expectOk(await s.enqueue(queue, bodies.map(transient)), 202);
    await one.runWorker("twice");
    expect(await bodiesOf(one.client, queue)).toEqual([...bodies, ...bodies]);
  });

  test("a full queue drops and counts what need not be persisted, in the line of a session too; a deleted one takes none", async () => {
    const one = await fresh();
    const s = await newSession(one.client);
    const strict = await newQueue(one.client, ["1"], { maxMessages: 1, strictOrder: true });
    expectOk(await s.enqueue(strict, [transient("2"), transient("3")]), 202);
    const exchange = unique("exchange");
    expectOk(await one.client.declareExchange(exchange, { type: "fanout" }), 201);
    expectOk(await one.client.bind(exchange, { queue: strict }), 201);
    expectOk(await s.publish(exchange, [transient("4")]), 202);
    await one.runWorker();
    expect(await one.client.stats(strict)).toMatchObject({ available: "1", enqueued: "4", settled: "3" });
    const full = await newQueue(one.client, ["1"], { maxMessages: 1 });
    expectOk(await one.client.enqueue(full, [transient("2")]), 202);
    const gone = await newQueue(one.client);
    expectOk(await one.client.enqueue(gone, [transient("3")]), 202);
    expectOk(await one.client.deleteQueue(gone), 204);
    await one.runWorker();
    expect(await one.client.stats(full)).toMatchObject({ available: "1", enqueued: "2", settled: "1" });
  });
});

describe("AAC: who waits for the store", () => {
  /** Whether the call is answered while the commits on the queue are held. */
  const waitsFor = async (one: InProcess, queue: string, call: () => Promise<unknown>): Promise<boolean> => {
    const held = holdCalls(one, (made) => (commitsOn(made, queue) ? queue : undefined));
    let isAnswered = false;
    const answered = call().then((answer) => {
      isAnswered = true;
      return answer;
    });
    const first = await Promise.race([
      held.held(queue).then(() => "held" as const),
      answered.then(() => "answered" as const),
    ]);
    const waits = first === "held" && !isAnswered;
    held.release(queue);
    await answered;
    one.onCall = undefined;
    return waits;
  };

  test("AAC-1: a persistent message to one queue waits", async () => {
    const one = await fresh();
    const queue = await newQueue(one.client);
    expect(
      await waitsFor(one, queue, async () => expectOk(await one.client.enqueue(queue, [persistent("m")]), 201)),
    ).toBe(true);
  });

  test("AAC-2: a transient message to one queue does not", async () => {
    const one = await fresh();
    const queue = await newQueue(one.client);
    expect(
      await waitsFor(one, queue, async () => expectOk(await one.client.enqueue(queue, [transient("m")]), 202)),
    ).toBe(false);
    await one.runWorker();
    expect(await bodiesOf(one.client, queue)).toEqual(["m"]);
  });

  test("AAC-3: a persistent message to many queues waits for each where it is persisted", async () => {
    const one = await fresh();
    const { exchange, queues } = await fanout(one.client, [{}, { messageDurability: "always" }]);
    for (const queue of queues) {
      const publish = async () => expectOk(await one.client.publish(exchange, [persistent("m")]), 201);
      expect(await waitsFor(one, queue, publish)).toBe(true);
    }
  });

  test("AAC-4: a transient message to many queues waits only for those that persist everything", async () => {
    const one = await fresh();
    const settings = [{}, { messageDurability: "always" }, { messageDurability: "never" }] as const;
    const { exchange, queues } = await fanout(one.client, settings);
    const publish = async () => expectOk(await one.client.publish(exchange, [transient("m")]), 201);
    const waits: boolean[] = [];
    for (const queue of queues) waits.push(await waitsFor(one, queue, publish));
    expect(waits).toEqual([false, true, false]);
    await one.runWorker();
    for (const queue of queues) expect(await bodiesOf(one.client, queue)).toEqual(["m", "m", "m"]);
  });

  test("AAC-5: on a queue of strict order a transient message does not wait, and what is sent after it goes behind it", async () => {
    const one = await fresh();
    const s = await newSession(one.client);
    const queue = await newQueue(one.client, [], { strictOrder: true });
    const sent = async () => expectOk(await s.enqueue(queue, [transient("1")]), 202);
    expect(await waitsFor(one, queue, sent)).toBe(false);
    const behind = s.enqueue(queue, [persistent("2")]);
    await whileWorking(one, async () => expectOk(await behind, 201));
    expect(await bodiesOf(one.client, queue)).toEqual(["1", "2"]);
    // Without a session nothing is in order with anything else, and nothing is stored before.
    const free = await one.client.enqueue(queue, [transient("3")]);
    expectOk(free, 202);
    expect(free.receipt.wru).toBe(0);
  });

  /** Calls to the table of random speed. */
  const atRandomSpeed = (one: InProcess): void => {
    one.onCall = async (_, next) => {
      await sleep(Math.random() * 3);
      return next();
    };
  };

  test("AAC-6: 1,000 transient messages on queues that persist all stand exactly in the order sent", {
    timeout: 240_000,
  }, async () => {
    const one = await fresh();
    const { exchange, queues } = await fanout(one.client, [
      { messageDurability: "always" },
      { messageDurability: "always" },
    ]);
    const [both, second] = [queues[0] ?? "", queues[1] ?? ""];
    const s = await newSession(one.client);
    const sent = Array.from({ length: 1_000 }, (_, i) => String(i));
    const toSecond: string[] = [];
    atRandomSpeed(one);
    await whileWorking(one, async () => {
      for (let at = 0; at < sent.length; ) {
        const some = sent.slice(at, at + 1 + Math.floor(Math.random() * 9));
        at += some.length;
        if (Math.random() < 0.5) deferred(await s.later.enqueue(both, some.map(transient)));
        else {
          toSecond.push(...some);
          deferred(await s.later.publish(exchange, some.map(transient)));
        }
      }
    });
    one.onCall = undefined;
    expectOk(await s.sync(s.context.session ?? ""));
    expect(await bodiesOf(one.client, both)).toEqual(sent);
    expect(await bodiesOf(one.client, second)).toEqual(toSecond);
  });

  test("the order sent outlasts workers that stop anywhere and come in twos", { timeout: 120_000 }, async () => {
    const [one, two] = [await fresh(), await service.process("two")];
    await two.restart();
    const s = await newSession(one.client);
    const [stored, free] = [await newQueue(one.client), await newQueue(one.client, [], { messageDurability: "never" })];
    const sent = Array.from({ length: 30 }, (_, i) => String(i));
    for (const body of sent) {
      deferred(await s.later.enqueue(stored, [persistent(body)]));
      expect([202]).toContain((await s.enqueue(free, [transient(body)])).status);
    }
    for (const process of [one, two]) {
      let stops = 0;
      process.onCall = async ({ request, operation }, next) => {
        const isWorker = request.lambda.startsWith("worker/");
        const stopping = isWorker && stops < 15 && Math.random() < 0.03;
        if (stopping) stops += 1;
        if (stopping && Math.random() < 0.5) request.stop();
        const answer = await next();
        if (stopping && operation !== "Query") request.stop();
        return answer;
      };
    }
    for (let round = 0; round < 40; round += 1) {
      await Promise.all([one.runWorker("twice at once"), two.runWorker()]);
    }
    for (const process of [one, two]) process.onCall = undefined;
    await one.runSchedule();
    await one.runWorker();
    expect(await bodiesOf(one.client, stored)).toEqual(sent);
    expect(await bodiesOf(one.client, free)).toEqual(sent);
    const page = expectOk(await one.client.completions(s.context.session ?? ""));
    expect(page.completions.filter(({ status }) => status === 201)).toHaveLength(sent.length);
  });

  test("AAC-7: a persistent message on a `never` queue completes at once, still in order", async () => {
    const one = await fresh();
    const s = await newSession(one.client);
    const queue = await newQueue(one.client, [], { messageDurability: "never" });
    const sent = Array.from({ length: 40 }, (_, i) => String(i));
    atRandomSpeed(one);
    await whileWorking(one, async () => {
      for (const [i, body] of sent.entries()) {
        // Asynchronous ones, and those of a fan-out's other half, take the same way.
        if (i % 3 === 2) deferred(await s.later.enqueue(queue, [persistent(body)]));
        else expectOk(await s.enqueue(queue, [persistent(body)]), 202);
      }
    });
    one.onCall = undefined;
    await one.runWorker("twice");
    expect(await bodiesOf(one.client, queue)).toEqual(sent);
  });

  test("strict order holds over mixed modes, and over fan-outs that mix `never` and `always` queues", {
    timeout: 120_000,
  }, async () => {
    const one = await fresh();
    const s = await newSession(one.client);
    const strictOrder = true;
    const { exchange, queues } = await fanout(one.client, [
      { strictOrder },
      { strictOrder, messageDurability: "never" },
      { strictOrder, messageDurability: "always" },
    ]);
    const sent = Array.from({ length: 20 }, (_, i) => String(i));
    const [mixed] = queues;
    atRandomSpeed(one);
    const toMixed: string[] = [];
    await whileWorking(one, async () => {
      for (const [i, body] of sent.entries()) {
        const message = i % 3 === 0 ? persistent(body) : transient(body);
        const from = i % 5 === 4 ? s.later : s;
        toMixed.push(body);
        const answer = await from.publish(exchange, [message]);
        expect([201, 202]).toContain(answer.status);
        const single = i % 2 === 0 ? transient(`${body}+`) : persistent(`${body}+`);
        toMixed.push(`${body}+`);
        expect([201, 202]).toContain((await s.enqueue(mixed ?? "", [single])).status);
      }
    });
    one.onCall = undefined;
    expect(await bodiesOf(one.client, mixed ?? "")).toEqual(toMixed);
    for (const queue of queues.slice(1)) expect(await bodiesOf(one.client, queue)).toEqual(sent);
  });
});
