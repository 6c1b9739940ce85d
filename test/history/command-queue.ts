/** What the soak must know of the command queue and the one of failed commands: whether they are empty. */
import {
  GetQueueAttributesCommand,
  ListQueuesCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

/** What a killed worker had taken is delivered again after so long: the soak has not the patience of the product. */
const VISIBILITY_SECONDS = 4;

/** Which any of them counts: in the queue, under way, or delayed. */
const COUNTS = [
  "ApproximateNumberOfMessages",
  "ApproximateNumberOfMessagesNotVisible",
  "ApproximateNumberOfMessagesDelayed",
] as const;

/** Makes the queues deliver again soon what a worker that was killed had taken. */
export const beImpatient = (endpoint: string): Promise<unknown> =>
  withQueues(endpoint, (client, QueueUrl) =>
    client.send(
      new SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout: String(VISIBILITY_SECONDS) } }),
    ),
  );

/** Messages in the queues, those that are under way included. */
export const countQueued = async (endpoint: string): Promise<number> => {
  const counts = await withQueues(endpoint, async (client, QueueUrl) => {
    const { Attributes = {} } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...COUNTS] }),
    );
    return COUNTS.reduce((sum, name) => sum + Number(Attributes[name] ?? 0), 0);
  });
  return counts.reduce((sum, count) => sum + count, 0);
};

const withQueues = async <T>(endpoint: string, work: (client: SQSClient, url: string) => Promise<T>): Promise<T[]> => {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new SQSClient({ endpoint, region: "us-east-1", credentials });
  try {
    const { QueueUrls = [] } = await client.send(new ListQueuesCommand({}));
    // The engine names a host of its own; the path is what counts.
    return await Promise.all(QueueUrls.map((url) => work(client, endpoint + new URL(url).pathname)));
  } finally {
    client.destroy();
  }
};
