import type { Figure, Row } from "./capacity-rows.ts";
import type { CapacityService } from "./capacity-service.ts";
import { type Client, client, type Delivery, type QueueSettings } from "./client.ts";
import { bodies, newXid, queueName } from "./material.ts";
import { exactly } from "./message-rows.ts";

/** Where a message call is made: alone, in a session, or in a branch of one. */
type Where = "alone" | "in a session" | "in a branch";
const everywhere: readonly Where[] = ["alone", "in a session", "in a branch"];

/** Out of line: more than fits a run's record, on a queue that lets bodies go by their time. */
const small = { bytes: 300, settings: {} };
const large = { bytes: 4096, settings: { retentionSeconds: 86_400 } };

interface Kind {
  readonly bytes: number;
  readonly settings: QueueSettings;
}

/** One call of each verb, in a place that is ready for it, with the number of table calls that wait for each other. */
interface Counted {
  readonly enqueue: number;
  readonly acquire: number;
  readonly accept: number;
}

const countMessageCalls = async ({ baseUrl, steps }: CapacityService, where: Where, kind: Kind): Promise<Counted> => {
  const c = client(baseUrl);
  const queue = queueName();
  await c.declare(queue, kind.settings);
  const s = where === "alone" ? c : await c.attached();
  const xid = newXid();
  if (where === "in a branch") await s.verb(xid, "start");
  const here = where === "in a branch" ? s.within(xid) : s;
  await c.enqueue(queue, bodies(1, kind.bytes));
  const enqueue = await steps.count(() => here.enqueue(queue, bodies(1, kind.bytes)));
  let deliveries: readonly Delivery[] = [];
  const acquire = await steps.count(async () => {
    deliveries = await exactly(here, queue, 1);
  });
  const accept = await steps.count(() => here.accept(deliveries));
  return { enqueue, acquire, accept };
};

const countVerbs = async ({ baseUrl, steps }: CapacityService): Promise<Readonly<Record<Verb, number>>> => {
  const c = client(baseUrl);
  const [from, to] = [queueName(), queueName()];
  await Promise.all([c.declare(from), c.declare(to)]);
  const s = await c.attached();
  await s.enqueue(from, bodies(1, 300));
  const xid = newXid();
  const start = await steps.count(() => s.verb(xid, "start"));
  await swap(s.within(xid), from, to);
  await s.verb(xid, "end");
  const prepare = await steps.count(() => s.verb(xid, "prepare"));
  const commit = await steps.count(() => s.verb(xid, "commit"));
  return { start, prepare, commit };
};

const swap = async (inBranch: Client, from: string, to: string): Promise<void> => {
  const deliveries = await exactly(inBranch, from, 1);
  await inBranch.accept(deliveries);
  await inBranch.enqueue(
    to,
    deliveries.map(({ body }) => body),
  );
};

type Verb = "start" | "prepare" | "commit";

/** The most calls, without and with a payload, and where that is promised: an enqueue in a session stands behind its fence. */
interface Ceiling {
  readonly small: number;
  readonly large: number;
  readonly where: readonly Where[];
}

const messageRow = (verb: keyof Counted, ceiling: Ceiling): Row => ({
  name: `table calls in sequence: ${verb}`,
  measure: async (service) => {
    const figures: Figure[] = [];
    for (const where of everywhere) {
      const without = await countMessageCalls(service, where, small);
      const withPayload = await countMessageCalls(service, where, large);
      const held = ceiling.where.includes(where);
      figures.push({ of: `calls, ${where}`, measured: without[verb], ...(held && { ceiling: ceiling.small }) });
      figures.push({
        of: `calls with a payload, ${where}`,
        measured: withPayload[verb],
        ...(held && { ceiling: ceiling.large }),
      });
    }
    return figures;
  },
});

const verbRow = (verb: Verb, ceiling: number): Row => ({
  name: `table calls in sequence: ${verb}`,
  measure: async (service) => [{ of: "calls", measured: (await countVerbs(service))[verb], ceiling }],
});

export const sequenceRows: readonly Row[] = [
  messageRow("enqueue", { small: 2, large: 3, where: ["alone"] }),
  messageRow("acquire", { small: 2, large: 3, where: everywhere }),
  messageRow("accept", { small: 3, large: 3, where: everywhere }),
  verbRow("start", 1),
  verbRow("prepare", 2),
  verbRow("commit", 3),
];
