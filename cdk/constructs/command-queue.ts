import { Duration } from "aws-cdk-lib";
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption, type QueueProps } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { type QueueName, queues } from "../queue.ts";

/** The ordered queue of commands, with the dead-letter queue behind it. */
export class CommandQueue extends Construct {
  /** By the name that consumers are listed with. */
  readonly byName: Readonly<Record<QueueName, Queue>>;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const failed = new Queue(this, "FailedCommands", propsOf("failed-commands"));
    const { maxReceives } = queues.commands;
    const commands = new Queue(this, "Commands", {
      ...propsOf("commands"),
      deadLetterQueue: { queue: failed, maxReceiveCount: maxReceives },
    });
    this.byName = { commands, "failed-commands": failed };
  }

  /** Where commands are sent to. */
  get commands(): Queue {
    return this.byName.commands;
  }
}

const propsOf = (name: QueueName): QueueProps => ({
  fifo: true,
  // Two commands may look the same and be two.
  contentBasedDeduplication: false,
  // Together these two are SQS's high throughput: its limits then count for each group, not for the queue.
  deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
  fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
  visibilityTimeout: Duration.seconds(queues[name].visibilitySeconds),
  retentionPeriod: Duration.seconds(queues[name].retentionSeconds),
  encryption: QueueEncryption.SQS_MANAGED,
  enforceSSL: true,
});
