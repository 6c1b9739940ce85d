import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { QueueConsumer } from "../cdk/routes.ts";
import { contextOf, type Handler, type LoadHandler, loadLambda } from "./handlers.ts";
import { queueEvent, undoneOf } from "./queue-event.ts";
import type { LocalQueue, LocalQueues } from "./queues.ts";
import { oneLine } from "./start-failure.ts";

export interface EventSourcesWanted {
  readonly consumers: readonly QueueConsumer[];
  readonly endpoint: string;
  readonly queues: LocalQueues;
  readonly loadHandler?: LoadHandler;
  /** Where failures are told, a line each. */
  readonly log?: (line: string) => void;
}

/** Running event sources. `stop` takes nothing more from the queues; it resolves when what runs is done or after 3 s. */
export interface EventSources {
  stop(): Promise<void>;
}

/** Batches of one queue under way at once: a slow one holds up only the groups that it has messages of. */
const maxInvocations = 10;
/**
 * A poll waits so long for a message. The engine goes on with it after its caller died, and gives it a message
 * that then nobody sees for the queue's visibility timeout: a short one makes that rare.
 */
const waitSeconds = 1;
/** A function's time; after it the messages count as undone. */
const timeoutMs = 30_000;
const patienceMs = 3_000;
const pauseAfterFailureMs = 1_000;

/** Invokes each consumer with what its queue holds, as Lambda's event source mapping would. */
export async function startEventSources(wanted: EventSourcesWanted): Promise<EventSources> {
  const { consumers, endpoint, queues } = wanted;
  const log = wanted.log ?? ((line: string) => process.stderr.write(`${line}\n`));
  const load = wanted.loadHandler ?? loadLambda;
  const client = new SQSClient({ endpoint, maxAttempts: 2 });
  const handlers = await Promise.all(consumers.map(({ lambda }) => load(lambda)));
  const sources = consumers.map(
    (consumer, at) => new EventSource(client, consumer, queues[consumer.source], handlers[at] as Handler, log),
  );
  return {
    stop: async () => {
      await Promise.all(sources.map((source) => source.stop()));
      client.destroy();
    },
  };
}

class EventSource {
  readonly #client: SQSClient;
  readonly #consumer: QueueConsumer;
  readonly #queue: LocalQueue;
  readonly #handler: Handler;
  readonly #log: (line: string) => void;
  readonly #running = new Set<Promise<void>>();
  readonly #polling: Promise<void>;
  #isStopping = false;

  constructor(
    client: SQSClient,
    consumer: QueueConsumer,
    queue: LocalQueue,
    handler: Handler,
    log: (line: string) => void,
  ) {
    this.#client = client;
    this.#consumer = consumer;
    this.#queue = queue;
    this.#handler = handler;
    this.#log = log;
    this.#polling = this.#poll();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    // A poll is not broken off: a message that is on its way would be lost from sight.
    const done = this.#polling.then(() => Promise.all(this.#running));
    await withinMs(patienceMs, done);
  }

  async #poll(): Promise<void> {
    let isFailing = false;
    while (!this.#isStopping) {
      try {
        const messages = await this.#receive();
        isFailing = false;
        if (messages.length === 0) continue;
        if (this.#isStopping) await this.#giveBack(messages);
        else this.#start(messages);
      } catch (error) {
        if (!isFailing) this.#log(`cannot receive from ${this.#consumer.source}: ${oneLine(error)}`);
        isFailing = true;
        await sleep(pauseAfterFailureMs);
      }
      while (this.#running.size >= maxInvocations) await Promise.race(this.#running);
    }
  }

  async #receive(): Promise<readonly Message[]> {
    const { Messages = [] } = await this.#client.send(
      new ReceiveMessageCommand({
        QueueUrl: this.#queue.url,
        MaxNumberOfMessages: this.#consumer.batchSize,
        WaitTimeSeconds: waitSeconds,
        MessageSystemAttributeNames: ["All"],
      }),
    );
    return Messages;
  }

  #start(messages: readonly Message[]): void {
    const run = this.#consume(messages).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** What it leaves undone comes again when it was out of sight for long enough, as in Lambda. */
  async #consume(messages: readonly Message[]): Promise<void> {
    const undone = new Set(undoneOf(messages, await this.#invoke(messages)));
    try {
      await this.#delete(messages.filter((message) => !undone.has(message)));
    } catch (error) {
      this.#log(`cannot delete from ${this.#consumer.source}: ${oneLine(error)}`);
    }
  }

  async #invoke(messages: readonly Message[]): Promise<unknown> {
    const { lambda } = this.#consumer;
    const id = randomUUID();
    const run = (async () => this.#handler(queueEvent(this.#queue.arn, messages), contextOf(lambda, id, timeoutMs)))();
    try {
      return await withinMs(timeoutMs, run, () => {
        throw new Error(`no answer within ${timeoutMs} ms`);
      });
    } catch (error) {
      this.#log(`${lambda} failed, run ${id}: ${oneLine(error)}`);
      return allUndone;
    }
  }

  async #delete(messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    const Entries = messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle }));
    const { Failed = [] } = await this.#client.send(
      new DeleteMessageBatchCommand({ QueueUrl: this.#queue.url, Entries }),
    );
    if (Failed.length > 0) throw new Error(`${Failed.length} messages: ${Failed[0]?.Code}`);
  }

  async #giveBack(messages: readonly Message[]): Promise<void> {
    // Not at once: the queue engine then loses it, its file refusing to be told so.
    const VisibilityTimeout = 1;
    const Entries = messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle, VisibilityTimeout }));
    await this.#client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: this.#queue.url, Entries }));
  }
}

/** An answer that Lambda cannot read. */
const allUndone = { batchItemFailures: "all" };

/** The work's result, or what `late` gives when it takes longer; the work itself goes on. */
async function withinMs<T>(
  ms: number,
  work: Promise<T>,
  late: () => T | undefined = () => undefined,
): Promise<T | undefined> {
  const over = new AbortController();
  const timer = sleep(ms, undefined, { signal: over.signal }).then(late);
  timer.catch(() => {});
  try {
    return await Promise.race([work, timer]);
  } finally {
    over.abort();
  }
}
