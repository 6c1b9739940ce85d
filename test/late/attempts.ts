/** Every verb that may be sent again, after its repetition went on: the first attempt comes late, and changes nothing more. */
import { expect } from "vitest";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { expectOk, newQueue } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { type Held, type Row, type Stage, toldBy } from "./late.ts";
import { attached, fanout, heuristic, idle, LARGE, leased, prepared, working } from "./scenes.ts";

/** What is sent, twice: by the client given. */
type Sending = (client: Client) => Promise<Answer<unknown>>;

interface Case {
  readonly route: string;
  readonly how: string;
  /** What the attempt is told that comes after the other one has done it. */
  readonly told: string;
  /** What else the first attempt may be told when it was under way: it cannot always tell that the other one did it. */
  readonly besides?: readonly string[];
  readonly prepare: (stage: Stage) => Promise<Sending>;
  readonly mayLand?: Row["mayLand"];
}

/** A queue that the request itself has deleted, it goes on to sweep. */
const sweeps = { why: "it sweeps what it has deleted", when: ({ hadWritten }: Held) => hadWritten };

const row = ({ route, how, told, besides = [], prepare, mayLand }: Case): Row => ({
  carries: "attempt",
  route,
  how,
  told,
  toldUnderWay: [told, ...besides],
  ...(mayLand !== undefined && { mayLand }),
  async make(stage) {
    const send = await prepare(stage);
    return {
      send: () => send(stage.late),
      async next() {
        const repeated = await send(stage.others);
        // The first attempt may have done it before it was held.
        if (repeated.problem !== undefined && toldBy(repeated) !== told) {
          throw new Error(`the repetition was refused: ${repeated.problem.detail}`);
        }
      },
    };
  },
});

/** A verb on a branch that was brought to where it fits. */
const verbs = (
  bring: (session: Client) => Promise<{ readonly xid: string }>,
  verb: (client: Client, xid: string) => Promise<Answer<unknown>>,
) => ({
  async prepare(stage: Stage): Promise<Sending> {
    const session = await attached(stage);
    const { xid } = await bring(session);
    return (client) => verb(client.with(session.context), xid);
  },
});

const settles = (verb: "accept" | "release" | "reject") => ({
  async prepare({ others }: Stage): Promise<Sending> {
    const deadLetterQueue = await newQueue(others);
    const { ids } = await leased(others, ["m1", "m2"], { deadLetterQueue });
    return (client) => client[verb](ids);
  },
});

const enqueues = (body: string) => ({
  async prepare({ others }: Stage): Promise<Sending> {
    const queue = await newQueue(others);
    const headers = { "idempotency-key": unique("key") };
    return (client) => client.enqueue(queue, [{ body }, { body, deduplicationId: "d" }], headers);
  },
});

/** Stored as a command of a session: the first one's id is the answer to both. */
const enqueuesLater = (body: string) => ({
  async prepare(stage: Stage): Promise<Sending> {
    const [{ context }, queue] = [await attached(stage), await newQueue(stage.others)];
    const headers = { "idempotency-key": unique("key") };
    return (client) => client.with(context).later.enqueue(queue, [{ body }], headers);
  },
});

const enqueuesInBranch = (body: string) => ({
  async prepare(stage: Stage): Promise<Sending> {
    const { worker, to } = await working(await attached(stage));
    const headers = { "idempotency-key": unique("key") };
    return (client) => client.with(worker.context).enqueue(to, [{ body }], headers);
  },
});

export const attemptRows: readonly Row[] = [
  row({ route: "POST /queues/{queue}/messages", how: "with its key", told: "201", ...enqueues("small") }),
  row({ route: "POST /queues/{queue}/messages", how: "with its key, large", told: "201", ...enqueues(LARGE) }),
  row({ route: "POST /queues/{queue}/messages", how: "as a command", told: "202", ...enqueuesLater("small") }),
  row({ route: "POST /queues/{queue}/messages", how: "as a command, large", told: "202", ...enqueuesLater(LARGE) }),
  row({ route: "POST /queues/{queue}/messages", how: "in a branch", told: "201", ...enqueuesInBranch("small") }),
  row({ route: "POST /queues/{queue}/messages", how: "in a branch, large", told: "201", ...enqueuesInBranch(LARGE) }),
  row({
    route: "POST /exchanges/{exchange}/messages",
    how: "with its key",
    told: "201",
    async prepare({ others }) {
      const { exchange } = await fanout(others);
      const headers = { "idempotency-key": unique("key") };
      return (client) => client.publish(exchange, [{ body: "all" }, { body: LARGE }], {}, headers);
    },
  }),
  row({
    route: "PUT /exchanges/{exchange}",
    how: "a new one",
    told: "200",
    async prepare({ others }) {
      const [{ exchange: alternateExchange }, exchange] = [await fanout(others), unique("exchange")];
      return (client) => client.declareExchange(exchange, { type: "direct", alternateExchange });
    },
  }),
  row({
    route: "DELETE /exchanges/{exchange}",
    how: "with bindings",
    told: "not-found",
    async prepare({ others }) {
      const { exchange } = await fanout(others);
      return (client) => client.deleteExchange(exchange);
    },
    mayLand: sweeps,
  }),
  row({
    route: "PUT /exchanges/{exchange}/bindings",
    how: "a new one",
    told: "200",
    async prepare({ others }) {
      const [{ exchange }, queue] = [await fanout(others), await newQueue(others)];
      return (client) => client.bind(exchange, { queue, arguments: { a: 1 } });
    },
  }),
  row({
    route: "DELETE /exchanges/{exchange}/bindings",
    how: "one of two",
    told: "not-found",
    async prepare({ others }) {
      const { exchange, queues } = await fanout(others);
      return (client) => client.unbind(exchange, { queue: queues[0] ?? "" });
    },
  }),
  row({
    route: "POST /queues/{queue}/deliveries",
    how: "removing the last",
    told: "200",
    async prepare({ others }) {
      const queue = await newQueue(others, ["m1"]);
      return (client) => client.acquire(queue, { settle: "none" });
    },
  }),
  row({
    route: "POST /deliveries/accept",
    how: "outside a branch",
    told: "not-found, not-found",
    besides: ["accepted, accepted"],
    ...settles("accept"),
  }),
  row({
    route: "POST /deliveries/accept",
    how: "in a branch",
    told: "accepted",
    async prepare(stage) {
      const { worker } = await working(await attached(stage));
      const { ids } = await leased(stage.others);
      return (client) => client.with(worker.context).accept(ids);
    },
  }),
  row({
    route: "POST /deliveries/release",
    how: "at once",
    told: "lease-lost, lease-lost",
    besides: ["released, released"],
    ...settles("release"),
  }),
  row({
    route: "POST /deliveries/reject",
    how: "to the dead-letter queue",
    told: "not-found, not-found",
    besides: ["rejected, rejected"],
    ...settles("reject"),
  }),
  row({
    route: "PUT /queues/{queue}",
    how: "a new one",
    told: "200",
    async prepare() {
      const queue = unique();
      return (client) => client.declare(queue);
    },
  }),
  row({
    route: "DELETE /queues/{queue}",
    how: "with a message",
    told: "not-found",
    async prepare({ others }) {
      const deadLetterQueue = await newQueue(others);
      const queue = await newQueue(others, ["m1"], { deadLetterQueue });
      return (client) => client.deleteQueue(queue);
    },
    mayLand: sweeps,
  }),
  row({
    route: "POST /queues/{queue}/purge",
    how: "of two messages",
    told: "200",
    async prepare({ others }) {
      const queue = await newQueue(others, ["m1", "m2"]);
      return (client) => client.purge(queue);
    },
  }),
  row({
    route: "POST /queues/{queue}/redrive",
    how: "of two dead letters",
    told: "200",
    async prepare({ others }) {
      const letters = await newQueue(others);
      const { ids } = await leased(others, ["m1", "m2"], { deadLetterQueue: letters });
      expectOk(await others.reject(ids));
      return (client) => client.redrive(letters);
    },
  }),
  row({
    route: "DELETE /sessions/{session}",
    how: "of its epoch",
    told: "204",
    async prepare(stage) {
      const { context } = await attached(stage);
      await working(stage.others.with(context));
      return (client) => client.with(context).detach(context.session ?? "");
    },
  }),
  row({
    route: "POST /dtx/{xid}/start",
    how: "a new branch",
    told: "not-allowed",
    besides: ["XA_OK"],
    async prepare(stage) {
      const { context } = await attached(stage);
      const xid = newXid();
      return (client) => client.with(context).start(xid);
    },
  }),
  row({
    route: "POST /dtx/{xid}/end",
    how: "plainly",
    told: "illegal-state",
    ...verbs(working, (c, xid) => c.end(xid)),
  }),
  row({
    route: "POST /dtx/{xid}/prepare",
    how: "idle",
    told: "illegal-state",
    ...verbs(idle, (c, xid) => c.prepare(xid)),
  }),
  row({
    route: "POST /dtx/{xid}/commit",
    how: "one phase",
    told: "XA_OK",
    ...verbs(idle, (c, xid) => c.commit(xid, { onePhase: true })),
  }),
  row({
    route: "POST /dtx/{xid}/commit",
    how: "two phases",
    told: "XA_OK",
    ...verbs(prepared, (c, xid) => c.commit(xid)),
  }),
  row({ route: "POST /dtx/{xid}/rollback", how: "idle", told: "XA_OK", ...verbs(idle, (c, xid) => c.rollback(xid)) }),
  row({
    route: "POST /dtx/{xid}/rollback",
    how: "prepared",
    told: "XA_OK",
    ...verbs(prepared, (c, xid) => c.rollback(xid)),
  }),
  row({
    route: "POST /dtx/{xid}/forget",
    how: "decided",
    told: "not-found",
    ...verbs(heuristic, (c, xid) => c.forget(xid)),
  }),
  row({
    route: "POST /dtx/{xid}/heuristic",
    how: "prepared",
    told: "illegal-state",
    ...verbs(prepared, (c, xid) => c.heuristic(xid, "rollback")),
  }),
  row({
    route: "POST /recovery",
    how: "of a dead session's branch",
    told: "200",
    async prepare(stage) {
      const { context } = await attached(stage, 60);
      await working(stage.others.with(context));
      stage.wait(61_000);
      return (client) => client.recovery();
    },
  }),
];

/** A queue's name, deleted and declared again while the first attempt was under way: it means the queue that it met. */
const ofQueue = (
  route: string,
  how: string,
  verb: (client: Client, queue: string, other: string) => Promise<Answer<unknown>>,
): Row => ({
  carries: "incarnation",
  route,
  how,
  toldUnderWay: ["not-found", "200"],
  mayLand: sweeps,
  async make({ late, others }) {
    const [queue, other] = [await newQueue(others, ["old"]), await newQueue(others)];
    return {
      knowsBy: `QUEUE#${queue}`,
      send: () => verb(late, queue, other),
      async next() {
        // It may have been deleted before the first attempt was held.
        expect([204, 404]).toContain((await others.deleteQueue(queue)).status);
        expectOk(await others.declare(queue), 201);
        expectOk(await others.enqueue(queue, [{ body: "new" }]), 201);
      },
    };
  },
});

/** The life of a queue's name is one too. */
export const queueRows: readonly Row[] = [
  ofQueue("DELETE /queues/{queue}", "and another queue of its name", (client, queue) => client.deleteQueue(queue)),
  ofQueue("POST /queues/{queue}/purge", "and another queue of its name", (client, queue) => client.purge(queue)),
  ofQueue("POST /queues/{queue}/redrive", "and another queue of its name", (client, queue, other) =>
    client.redrive(queue, other),
  ),
];
