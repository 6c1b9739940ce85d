/** Gives the functions that consume queues what the queues hold, by the test's own time. */
import { consumers, type QueueConsumer } from "../../cdk/routes.ts";
import { queueEvent, undoneOf } from "../../local/queue-event.ts";
import type { LocalQueues } from "../../local/queues.ts";
import type { QueuesUnderTest } from "./queues.ts";

/** How often the queue delivers each batch before it hears that it is done: two times one after the other, or side by side. */
export type Deliveries = "once" | "twice" | "twice at once";

export interface Workplace {
  readonly queues: QueuesUnderTest;
  readonly local: LocalQueues;
  /** Runs a function; undefined when it gave no answer. */
  invoke(lambda: string, event: object): Promise<{ readonly answer: unknown } | undefined>;
}

/** Batches that one run may take: more of them means that it would never end. */
const BATCHES = 1_000;

/** Until the queues are empty, or a function gave no answer: its batch is then in the queue again. */
export const runWorkers = async (workplace: Workplace, deliveries: Deliveries): Promise<void> => {
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const outcomes: Outcome[] = [];
    for (const consumer of consumers) {
      const outcome = await consumeBatch(workplace, consumer, deliveries);
      if (outcome === "unanswered") return;
      outcomes.push(outcome);
    }
    if (outcomes.every((outcome) => outcome === "empty")) return;
  }
  throw new Error("the queues do not become empty");
};

type Outcome = "empty" | "answered" | "unanswered";

const consumeBatch = async (
  { queues, local, invoke }: Workplace,
  { lambda, source, batchSize }: QueueConsumer,
  deliveries: Deliveries,
): Promise<Outcome> => {
  const queue = local[source];
  const messages = await queues.receive(queue, batchSize);
  if (messages.length === 0) return "empty";
  const deliver = () => invoke(lambda, queueEvent(queue.arn, messages));
  const results = deliveries === "twice at once" ? await Promise.all([deliver(), deliver()]) : [await deliver()];
  if (deliveries === "twice") results.push(await deliver());
  const isAnswered = !results.includes(undefined);
  const undone = isAnswered ? undoneOf(messages, results.at(-1)?.answer) : messages;
  await queues.delete(
    queue,
    messages.filter((message) => !undone.includes(message)),
  );
  await queues.giveBack(queue, undone);
  return isAnswered ? "answered" : "unanswered";
};
