import { createHash } from "node:crypto";
import { CreateQueueCommand, GetQueueAttributesCommand, GetQueueUrlCommand, SQSClient } from "@aws-sdk/client-sqs";
import { type QueueName, queues } from "../cdk/queue.ts";
import { oneLine, StartFailure } from "./start-failure.ts";

/** Where a queue is, and what events call it. */
export interface LocalQueue {
  readonly url: string;
  readonly arn: string;
}

export type LocalQueues = Readonly<Record<QueueName, LocalQueue>>;

/**
 * Creates the queues that belong to a table where they are missing. Two services may do so at once. Throws
 * `StartFailure` when the endpoint cannot be reached or refuses.
 */
export async function ensureQueues(endpoint: string, tableName: string): Promise<LocalQueues> {
  const client = new SQSClient({ endpoint, maxAttempts: 3 });
  try {
    const failed = await ensureQueue(client, endpoint, tableName, "failed-commands", {});
    const RedrivePolicy = JSON.stringify({
      deadLetterTargetArn: failed.arn,
      maxReceiveCount: queues.commands.maxReceives,
    });
    const commands = await ensureQueue(client, endpoint, tableName, "commands", { RedrivePolicy });
    return { commands, "failed-commands": failed };
  } catch (error) {
    throw new StartFailure(`cannot use the queues of "${tableName}" at ${endpoint}: ${oneLine(error)}`);
  } finally {
    client.destroy();
  }
}

async function ensureQueue(
  client: SQSClient,
  endpoint: string,
  tableName: string,
  name: QueueName,
  more: Readonly<Record<string, string>>,
): Promise<LocalQueue> {
  const QueueName = `${prefixOf(tableName)}-${name}.fifo`;
  const found = (await find(client, QueueName)) ?? (await create(client, QueueName, name, more));
  const { pathname } = new URL(found);
  // The queue engine names a host of its own that does not resolve; the path is what counts.
  const url = `${endpoint}${pathname}`;
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["QueueArn"] }),
  );
  return { url, arn: Attributes?.QueueArn ?? "" };
}

async function find(client: SQSClient, QueueName: string): Promise<string | undefined> {
  try {
    return (await client.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl;
  } catch (error) {
    if (error instanceof Error && /QueueDoesNotExist|NonExistentQueue/.test(error.name)) return undefined;
    throw error;
  }
}

/** As the stack declares them; whoever creates one a second time with the same attributes finds the first. */
async function create(
  client: SQSClient,
  QueueName: string,
  name: QueueName,
  more: Readonly<Record<string, string>>,
): Promise<string> {
  const { visibilitySeconds, retentionSeconds } = queues[name];
  const { QueueUrl } = await client.send(
    new CreateQueueCommand({
      QueueName,
      Attributes: {
        FifoQueue: "true",
        ContentBasedDeduplication: "false",
        DeduplicationScope: "messageGroup",
        FifoThroughputLimit: "perMessageGroupId",
        VisibilityTimeout: String(visibilitySeconds),
        MessageRetentionPeriod: String(retentionSeconds),
        ...more,
      },
    }),
  );
  if (QueueUrl === undefined) throw new Error("the queue has no URL");
  return QueueUrl;
}

/** Queues are named after their table; their names are shorter, and have no dots. */
function prefixOf(tableName: string): string {
  if (/^[A-Za-z0-9_-]{1,50}$/.test(tableName)) return tableName;
  const hash = createHash("sha256").update(tableName).digest("hex").slice(0, 8);
  return `${tableName.replaceAll(".", "_").slice(0, 40)}-${hash}`;
}
