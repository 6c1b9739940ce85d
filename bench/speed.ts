import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { awsEnvironment } from "../local/credentials.ts";
import { startEngines, startService } from "../local/service.ts";
import { readSettings } from "../local/settings.ts";
import { type Client, client } from "./client.ts";
import { stopOnInterrupt } from "./interrupt.ts";
import { bodies, newXid, queueName } from "./material.ts";
import { exactly } from "./message-rows.ts";
import { type Rate, rateOf } from "./rate.ts";

/** One kind of work: what one of several loops does again and again. */
interface Work {
  readonly name: string;
  /** How many units one round handles. */
  readonly units: number;
  readonly unit: string;
  /** Makes a loop's own round. */
  prepare(c: Client): Promise<() => Promise<unknown>>;
}

/** Loops that run at the same time. */
const LOOPS = 8;
const SECONDS_EACH = 5;
/** Before and after each kind of work, so that the ratio is of the machine as it then was. */
const SECONDS_OF_PUTS = 2;

/** One message after the other, or many a call, through a queue of each loop's own. */
const passing = (name: string, count: number, bytes: number): Work => ({
  name,
  units: count,
  unit: "message",
  prepare: async (c) => {
    const queue = queueName();
    await c.declare(queue, { retentionSeconds: 3600 });
    const sent = bodies(count, bytes);
    return async () => {
      await c.enqueue(queue, sent);
      await c.accept(await exactly(c, queue, count));
    };
  },
});

/** Moves one message from a queue to another in two phases, and then back. */
const swapping: Work = {
  name: "swap in two phases (start, acquire, accept, enqueue, end, prepare, commit)",
  units: 1,
  unit: "branch",
  prepare: async (c) => {
    let [from, to] = [queueName(), queueName()];
    await c.declare(from);
    await c.declare(to);
    const s = await c.attached();
    await s.enqueue(from, bodies(1, 300));
    return async () => {
      const xid = newXid();
      const inBranch = s.within(xid);
      await s.verb(xid, "start");
      const taken = await exactly(inBranch, from, 1);
      await inBranch.accept(taken);
      await inBranch.enqueue(
        to,
        taken.map(({ body }) => body),
      );
      for (const verb of ["end", "prepare", "commit"] as const) await s.verb(xid, verb);
      [from, to] = [to, from];
    };
  },
};

const enqueueing: Work = {
  name: "enqueue, 300 B",
  units: 1,
  unit: "message",
  prepare: async (c) => {
    const queue = queueName();
    await c.declare(queue);
    const sent = bodies(1, 300);
    return () => c.enqueue(queue, sent);
  },
};

/** The same with nothing to store before: the command queue takes it. */
const handingOn: Work = {
  name: "enqueue, 300 B, not persisted",
  units: 1,
  unit: "message",
  prepare: async (c) => {
    const queue = queueName();
    await c.declare(queue, { messageDurability: "never" });
    const s = await c.attached();
    const sent = bodies(1, 300);
    return () => s.enqueue(queue, sent);
  },
};

/** Sends commands one after the other and waits until the last one is complete. */
const COMMANDS = 10;
const commanding: Work = {
  name: `enqueue, 300 B, ${COMMANDS} as commands, until all are complete`,
  units: COMMANDS,
  unit: "message",
  prepare: async (c) => {
    const queue = queueName();
    await c.declare(queue);
    const s = await c.attached();
    const sent = bodies(1, 300);
    return async () => {
      for (let command = 0; command < COMMANDS; command++) await s.later().enqueue(queue, sent);
      await s.sync();
    };
  },
};

const works: readonly Work[] = [
  enqueueing,
  handingOn,
  commanding,
  passing("enqueue + acquire + accept, 300 B, one a call", 1, 300),
  passing("enqueue + acquire + accept, 1 KB, 100 a call", 100, 1024),
  swapping,
];

/**
 * Measures throughput and latency of a service in processes of its own. The measure is a plain put of 300 B into the same
 * table, from the same machine in the same run: the ratio tells more than the rates, which are the machine's.
 */
export const measureSpeed = async (print: (line: string) => void): Promise<void> => {
  const dataDir = await mkdtemp(join(tmpdir(), "cairn-bench-"));
  const engines = await startEngines({ dataDir });
  const dynamodbEndpoint = process.env.DYNAMODB_ENDPOINT || engines.dynamodbEndpoint;
  const env = { DYNAMODB_ENDPOINT: dynamodbEndpoint, SQS_ENDPOINT: engines.sqsEndpoint };
  const service = await startService({ env });
  const stop = stopOnInterrupt(async () => {
    await service.stop();
    await engines.stop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });
  try {
    print(`${LOOPS} loops at a time, ${SECONDS_EACH} s each kind of work`);
    print(headings);
    const put = await plainPuts(dynamodbEndpoint);
    const puts = (): Promise<Rate> => rateOf(Array(LOOPS).fill(put), SECONDS_OF_PUTS);
    let before = await puts();
    print(lineOf("plain put into the table, 300 B", before, ""));
    for (const { name, units, unit, prepare } of works) {
      const rounds = await Promise.all(Array.from({ length: LOOPS }, () => prepare(client(service.baseUrl))));
      const rate = await rateOf(rounds, SECONDS_EACH);
      const after = await puts();
      const ratio = (before.perSecond + after.perSecond) / 2 / (rate.perSecond * units);
      print(lineOf(name, rate, `  ${ratio.toFixed(2)} a ${unit}`));
      before = after;
    }
    print(lineOf("plain put again, to see how steady the machine is", before, ""));
  } finally {
    await stop();
  }
};

const plainPuts = async (endpoint: string): Promise<() => Promise<unknown>> => {
  const given = [process.env.DYNAMODB_ENDPOINT];
  for (const [name, value] of Object.entries(awsEnvironment(process.env, given))) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  const table = new DynamoDBClient({ endpoint });
  const { tableName } = readSettings(process.env);
  const [body = ""] = bodies(1, 300);
  let n = 0;
  return () => {
    n += 1;
    // A few records over and over: the table is not to keep what a measurement left.
    const Item = { pk: { S: "BENCH" }, sk: { S: String(n % LOOPS) }, body: { S: body } };
    return table.send(new PutItemCommand({ TableName: tableName, Item }));
  };
};

const headings = `${"".padEnd(74)}${"a second".padStart(9)}${"p50 ms".padStart(9)}${"p95 ms".padStart(9)}  in puts`;

const lineOf = (name: string, rate: Rate, cost: string): string => {
  const numbers = [rate.perSecond, rate.p50Ms, rate.p95Ms].map((value) => value.toFixed(1).padStart(9)).join("");
  return `${name.padEnd(74)}${numbers}${cost}`;
};
