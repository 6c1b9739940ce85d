/** Workers at a session's commands, with one another and with whatever else happens to the session or to the queues. */
import { type Client, deferred } from "../../support/client.ts";
import { expectOk } from "../../support/moves.ts";
import { unique } from "../../support/names.ts";
import type { MessageInput, QueueSettings } from "../../support/shapes.ts";
import type { Act, InSession, Scenario, Scene, Stage } from "../scenario.ts";
import { attached, messages, queueWith } from "../scenes.ts";

interface Line extends InSession {
  readonly a: string;
  readonly b: string;
  readonly worker: Act;
}

/** What a session sends later, from a client in it. */
type Sending = (later: Client, queues: { readonly a: string; readonly b: string }, stage: Stage) => Promise<void>;

/** Commands in a session's line, and what two do then; a worker is given all that the command queue holds. */
const inLine = (
  name: string,
  send: Sending,
  operations: (line: Line) => Scene["operations"],
  settings: QueueSettings = {},
  more: Partial<Scenario> & { readonly isSwept?: true } = {},
): Scenario => ({
  name,
  ...(more.also && { also: more.also }),
  ...(more.isLong && { isLong: true }),
  async setUp(stage) {
    const d = await queueWith(stage);
    const [a, b] = [await queueWith(stage, ["a0"], { ...settings, deadLetterQueue: d }), await queueWith(stage)];
    const inSession = await attached(stage);
    await stage.drainQueue();
    await send(stage.client.with(inSession).later, { a, b }, stage);
    const queued = await stage.drainQueue();
    const { session } = inSession;
    return {
      look: {
        queues: { a, b, d },
        sessions: { s: session },
        commands: { s: session },
        queued,
        isLimited: settings.maxMessages !== undefined,
        ...(more.isSwept && { isSwept: true }),
      },
      operations: operations({ ...inSession, a, b, worker: { delivered: queued } }),
    };
  },
});

const enqueues =
  (...bodies: readonly string[]): Sending =>
  async (later, { a }) => {
    for (const body of bodies) deferred(await later.enqueue(a, messages(body)));
  };

const onTwoQueues: Sending = async (later, { a, b }) => {
  deferred(await later.enqueue(a, messages("a1")));
  deferred(await later.enqueue(b, messages("b1")));
};

/** One accept of two deliveries of each of two queues. */
const accepts: Sending = async (later, queues, stage) => {
  const ids: string[] = [];
  for (const queue of [queues.a, queues.b]) {
    expectOk(await stage.client.enqueue(queue, messages(`${queue === queues.a ? "a" : "b"}9`)), 201);
    const { deliveries } = expectOk(await stage.client.acquire(queue, { leaseSeconds: 30 }));
    ids.push(...deliveries.map(({ deliveryId }) => deliveryId));
  }
  deferred(await later.accept(ids));
};

/** One accept of what the session has taken. */
const acceptsOwn: Sending = async (later, { a }) => {
  const { deliveries } = expectOk(await later.acquire(a, { leaseSeconds: 3600 }));
  deferred(await later.accept(deliveries.map(({ deliveryId }) => deliveryId)));
};

/** The same, and then its session is detached. */
const acceptsAndLeaves: Sending = async (later, queues, stage) => {
  await acceptsOwn(later, queues, stage);
  expectOk(await stage.client.detach(later.context.session ?? ""), 204);
};

/** To a queue that stores it and may be full, and to one that need not store it. */
const publishesBoth: Sending = async (later, { a }, { client }) => {
  const [exchange, never] = [unique("exchange"), unique()];
  expectOk(await client.declare(never, { messageDurability: "never" }), 201);
  expectOk(await client.declareExchange(exchange, { type: "fanout" }), 201);
  for (const queue of [a, never]) expectOk(await client.bind(exchange, { queue }), 201);
  deferred(await later.publish(exchange, messages("p1")));
};

const two = ({ worker }: Line): Scene["operations"] => ({ worker: [worker], other: [worker] });

const long = { isLong: true } as const;

const workers: readonly Scenario[] = [
  inLine("worker / worker, two commands of one queue", enqueues("a1", "a2"), two),
  inLine("worker / worker, two commands of two queues", onTwoQueues, two),
  inLine("worker / worker, what one of two fits", enqueues("a1", "a2"), two, { maxMessages: 2 }, long),
  inLine("worker / worker, an accept on two queues", accepts, two, {}, long),
  inLine(
    "worker / worker, to a queue with room for one and one that need not store",
    publishesBoth,
    two,
    { maxMessages: 2 },
    long,
  ),
];

const inSession = (at: Client, { session, epoch }: InSession): Client => at.with({ session, epoch });

const transient = (body: string): readonly MessageInput[] =>
  messages(body).map((message) => ({ ...message, deliveryMode: "transient" }));

const withOthers: readonly Scenario[] = [
  inLine(
    "worker / enqueue that goes behind, and nobody waits for",
    enqueues("a1"),
    (line) => ({
      worker: [line.worker],
      enqueue: [(at) => inSession(at, line).enqueue(line.a, transient("a2"))],
    }),
    { strictOrder: true },
  ),
  inLine("worker / store of another command", enqueues("a1"), (line) => ({
    worker: [line.worker],
    store: [(at) => inSession(at, line).later.enqueue(line.a, messages("a2"))],
  })),
  inLine("worker / detach", enqueues("a1"), (line) => ({
    worker: [line.worker],
    detach: [(at) => inSession(at, line).detach(line.session)],
  })),
  inLine("worker / detach, of an accept of its own", acceptsOwn, (line) => ({
    worker: [line.worker],
    detach: [(at) => inSession(at, line).detach(line.session)],
  })),
  inLine("worker / acquire of what a session that has left accepts", acceptsAndLeaves, (line) => ({
    worker: [line.worker],
    acquire: [(at) => at.acquire(line.a, { maxMessages: 10 })],
  })),
  inLine("detach / acquire of what it accepts", acceptsOwn, (line) => ({
    detach: [(at) => inSession(at, line).detach(line.session)],
    acquire: [(at) => at.acquire(line.a, { maxMessages: 10 })],
  })),
  inLine("worker / attach", enqueues("a1"), (line) => ({
    worker: [line.worker],
    attach: [(at) => at.attach(line.session, 3600)],
  })),
  inLine("worker / purge", enqueues("a1"), (line) => ({ worker: [line.worker], purge: [(at) => at.purge(line.a)] })),
  inLine(
    "worker / delete queue",
    enqueues("a1"),
    (line) => ({ worker: [line.worker], delete: [(at) => at.deleteQueue(line.a)] }),
    {},
    { isSwept: true },
  ),
];

const stores: readonly Scenario[] = [
  inLine("store / store, of one session", enqueues(), (line) => ({
    store: [(at) => inSession(at, line).later.enqueue(line.a, messages("a1"))],
    other: [(at) => inSession(at, line).later.enqueue(line.b, messages("b1"))],
  })),
  inLine("store / keep-alive", enqueues(), (line) => ({
    store: [(at) => inSession(at, line).later.enqueue(line.a, messages("a1"))],
    keepAlive: [(at) => inSession(at, line).keepAlive(line.session, 3600)],
  })),
  inLine("store / attach", enqueues(), (line) => ({
    store: [(at) => inSession(at, line).later.enqueue(line.a, messages("a1"))],
    attach: [(at) => at.attach(line.session, 3600)],
  })),
];

/** Messages of one session that need not be stored, in the command queue. */
const handedOn = (name: string, settings: QueueSettings, bodies: readonly string[]): Scenario => ({
  name,
  async setUp(stage) {
    const a = await queueWith(stage, [], { messageDurability: "never", ...settings });
    const session = await attached(stage);
    await stage.drainQueue();
    for (const body of bodies) expectOk(await inSession(stage.client, session).enqueue(a, messages(body)), 202);
    const queued = await stage.drainQueue();
    return {
      look: { queues: { a }, queued, isLimited: settings.maxMessages !== undefined },
      operations: two({ ...session, a, b: "", worker: { delivered: queued } }),
    };
  },
});

export const commands: readonly Scenario[] = [
  ...workers,
  ...withOthers,
  ...stores,
  handedOn("apply / apply, of two messages that need not be stored", {}, ["a1", "a2"]),
  handedOn("apply / apply, where one of two fits", { maxMessages: 1 }, ["a1", "a2"]),
];
