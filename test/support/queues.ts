/** The queues behind each table of a test: a connection that no fault touches, and what the workers of a process need of it. */
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { QueueName } from "../../cdk/queue.ts";
import type { QueueEngine } from "../../local/queue-engine.ts";
import { ensureQueues, type LocalQueue, type LocalQueues } from "../../local/queues.ts";

/** A message as it lies in the command queue; group and id as the product made them. */
export interface Queued {
  readonly group: string;
  readonly id: string;
  readonly body: string;
}

/** Longer than any test: what was taken comes back when the test says so. */
const OUT_OF_SIGHT_SECONDS = 43_200;

/** Attributes that a queue is made with, beside where its failed messages go. */
const GIVEN = [
  "FifoQueue",
  "ContentBasedDeduplication",
  "DeduplicationScope",
  "FifoThroughputLimit",
  "VisibilityTimeout",
  "MessageRetentionPeriod",
] as const;

/**
 * Where the engine is one of this process, what the product does not do itself goes to it without a request: a look whether a
 * queue is empty, queues made anew, messages put back.
 */
export class QueuesUnderTest {
  readonly #client: SQSClient;
  readonly #endpoint: string;
  readonly #engine: QueueEngine["server"] | undefined;
  readonly #byTable = new Map<string, Promise<LocalQueues>>();
  #made = 0;

  constructor(endpoint: string, engine?: QueueEngine["server"]) {
    this.#endpoint = endpoint;
    this.#engine = engine;
    this.#client = new SQSClient({ endpoint });
  }

  /** The connection that no fault touches. */
  get client(): SQSClient {
    return this.#client;
  }

  destroy(): void {
    this.#client.destroy();
  }

  /** The queues of a table, the same ones until they are renewed. */
  of(table: string): Promise<LocalQueues> {
    return this.#byTable.get(table) ?? this.renew(table);
  }

  /** Empty queues, which know no id that was sent before; processes use them from their next restart on. */
  renew(table: string): Promise<LocalQueues> {
    this.#made += 1;
    const before = this.#byTable.get(table);
    const made =
      before === undefined || this.#engine === undefined
        ? ensureQueues(this.#endpoint, `${table}-${this.#made}`)
        : before.then((queues) => this.#likeThese(queues));
    this.#byTable.set(table, made);
    return made;
  }

  /** Others in place of these. */
  #likeThese(queues: LocalQueues): LocalQueues {
    const failed = this.#like(queues["failed-commands"]);
    return { "failed-commands": failed, commands: this.#like(queues.commands, failed.arn) };
  }

  #like(queue: LocalQueue, failedArn?: string): LocalQueue {
    const engine = this.#engine;
    const name = nameOf(queue);
    const { attributes: all } = engine?.inspectQueue(name) ?? {};
    if (engine === undefined || all === undefined) throw new Error(`there is no queue ${name}`);
    const attributes: Record<string, string> = {};
    for (const given of GIVEN) attributes[given] = all[given] ?? "";
    if (failedArn !== undefined) {
      const policy: object = JSON.parse(all.RedrivePolicy ?? "{}");
      attributes.RedrivePolicy = JSON.stringify({ ...policy, deadLetterTargetArn: failedArn });
    }
    engine.deleteQueue(name);
    const { queueUrl, queueArn } = engine.createQueue(name.replace(/^(?:renewed-\d+-)?/, `renewed-${this.#made}-`), {
      attributes,
    });
    return { url: `${this.#endpoint}${new URL(queueUrl).pathname}`, arn: queueArn };
  }

  /** Takes everything out of the command queue, or out of the other one. */
  async drain(table: string, name: QueueName = "commands"): Promise<readonly Queued[]> {
    const queue = (await this.of(table))[name];
    const all: Queued[] = [];
    for (let taken = await this.receive(queue, 10); taken.length > 0; taken = await this.receive(queue, 10)) {
      for (const { Body = "", Attributes: { MessageGroupId = "", MessageDeduplicationId = "" } = {} } of taken) {
        all.push({ group: MessageGroupId, id: MessageDeduplicationId, body: Body });
      }
      await this.delete(queue, taken);
    }
    return all;
  }

  /** Puts what was drained into the command queue, or into the other one, in that order. */
  async fill(table: string, messages: readonly Queued[], name: QueueName = "commands"): Promise<void> {
    const queue = (await this.of(table))[name];
    for (const { group, id, body } of messages) {
      if (this.#engine !== undefined) {
        this.#engine.sendMessage(nameOf(queue), body, { messageGroupId: group, messageDeduplicationId: id });
        continue;
      }
      const names = { MessageGroupId: group, MessageDeduplicationId: id };
      await this.#client.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: body, ...names }));
    }
  }

  async receive(queue: LocalQueue, count: number): Promise<readonly Message[]> {
    if (this.#engine?.inspectQueue(nameOf(queue))?.messages.ready.length === 0) return [];
    const { Messages = [] } = await this.#client.send(
      new ReceiveMessageCommand({
        QueueUrl: queue.url,
        MaxNumberOfMessages: count,
        VisibilityTimeout: OUT_OF_SIGHT_SECONDS,
        MessageSystemAttributeNames: ["All"],
      }),
    );
    return Messages;
  }

  async delete(queue: LocalQueue, messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    const Entries = messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle }));
    await this.#client.send(new DeleteMessageBatchCommand({ QueueUrl: queue.url, Entries }));
  }

  /** They may be taken again at once. */
  async giveBack(queue: LocalQueue, messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    const Entries = messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle, VisibilityTimeout: 0 }));
    // The last first: each goes to the front of its group.
    await this.#client.send(
      new ChangeMessageVisibilityBatchCommand({ QueueUrl: queue.url, Entries: Entries.reverse() }),
    );
  }
}

const nameOf = ({ url }: LocalQueue): string => url.slice(url.lastIndexOf("/") + 1);
