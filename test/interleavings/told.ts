/** What an answer says, without what differs from run to run: ids, times, sequences. */
import type { Answer } from "../support/http.ts";
import type { Delivery, QueueStats, RecoveryReport, Settled, XaAnswer } from "../support/shapes.ts";

/** The names of a run for what it made (queues, xids, sessions), each with the name it has in every run. */
export type Labels = ReadonlyMap<string, string>;

export type Told = string | { readonly [field: string]: unknown };

interface Bodies extends XaAnswer {
  readonly deliveries: readonly Delivery[];
  readonly outcomes: Settled["outcomes"];
  readonly messages: readonly { readonly body?: string; readonly duplicate?: boolean }[];
  readonly inDoubt: RecoveryReport["inDoubt"];
  readonly recovery: RecoveryReport;
  readonly stats: QueueStats;
  readonly bindings: readonly { readonly queue: string; readonly bindingKey: string }[];
  readonly type: string;
  readonly purged: number;
  readonly more: boolean;
  readonly epoch: number;
  readonly resumed: boolean;
}

export const told = (answer: Answer<unknown>, labels: Labels): Told => {
  if (answer.problem !== undefined) return answer.problem.code;
  const body = (answer.body ?? {}) as Partial<Bodies>;
  if (body.deliveries !== undefined) return { delivered: body.deliveries.map(toldOfDelivery) };
  if (body.outcomes !== undefined) return body.outcomes.map(({ status }) => status).join(" ");
  if (body.inDoubt !== undefined) return toldOfRecovery(body as RecoveryReport, labels);
  if (body.recovery !== undefined) {
    return { epoch: body.epoch, resumed: body.resumed, ...toldOfRecovery(body.recovery, labels) };
  }
  if (body.stats !== undefined) {
    const { available, leased, held } = body.stats;
    return `${available} available, ${leased} leased, ${held} held`;
  }
  if (body.xa !== undefined) return [body.xa, body.state, body.remembered && "remembered"].filter(Boolean).join(" ");
  if (body.purged !== undefined) return { purged: body.purged, more: body.more };
  if (body.messages !== undefined) {
    return body.messages.map(({ body: text, duplicate }) => text ?? (duplicate ? "duplicate" : "enqueued")).join(" ");
  }
  if (body.bindings !== undefined)
    return body.bindings
      .map(({ queue }) => labels.get(queue) ?? "another")
      .toSorted()
      .join(" ");
  if (body.type !== undefined) return `${answer.status} ${body.type}`;
  return `${answer.status}${body.epoch === undefined ? "" : ` epoch ${body.epoch}`}`;
};

export const toldOfDelivery = ({ body, redelivered, deliveryCount }: Delivery): string =>
  `${body} (${redelivered ? "redelivered, " : ""}delivery ${deliveryCount})`;

/**
 * What is in doubt. How much was finished and rolled back is left out: of two who do the same at the same time, both may say
 * that it was done.
 */
const toldOfRecovery = ({ inDoubt, unreadable }: RecoveryReport, labels: Labels) => ({
  inDoubt: inDoubt.flatMap(({ xid, enqueues, dequeues }) => {
    const branch = labels.get(xid);
    const messages = (all: readonly { queue: string; messageId: string }[]) =>
      all.map(({ queue, messageId }) => `${labels.get(queue)}: ${messageId}`).join(", ");
    return branch === undefined ? [] : [`${branch} adds ${messages(enqueues)}; removes ${messages(dequeues)}`];
  }),
  unreadable,
});
