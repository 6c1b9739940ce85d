/** The calls of the soak, each as it is sent and as the history keeps it. */
import type { Delivered, Handed, SessionAt } from "./history.ts";
import type { Recorder } from "./recorder.ts";

const contextOf = (session: SessionAt | undefined, xid?: string): Record<string, string> => ({
  ...(session !== undefined && { session: session.name, "session-epoch": String(session.epoch) }),
  ...(xid !== undefined && { xid }),
});

const inContext = (session: SessionAt | undefined, xid?: string) => ({
  ...(session !== undefined && { session }),
  ...(xid !== undefined && { xid }),
});

interface EnqueuedBody {
  readonly messages: readonly { readonly queues: readonly { readonly sequence?: string }[] }[];
}

export const enqueue = (
  to: Recorder,
  who: string,
  queue: string,
  messages: readonly string[],
  session?: SessionAt,
  xid?: string,
) =>
  to.call(
    who,
    { call: "enqueue", queue, messages, ...inContext(session, xid) },
    {
      method: "POST",
      path: `/queues/${queue}/messages`,
      headers: contextOf(session, xid),
      body: { messages: messages.map((body) => ({ body })) },
    },
    (body: EnqueuedBody) => ({ sequences: body.messages.map(({ queues: [first] }) => first?.sequence ?? "") }),
  );

interface DeliveriesBody {
  readonly deliveries: readonly {
    readonly body: string;
    readonly deliveryId: string;
    readonly sequence: string;
    readonly redelivered: boolean;
  }[];
}

const deliveriesIn = (body: DeliveriesBody): readonly Delivered[] =>
  body.deliveries.map(({ body: message, deliveryId, sequence, redelivered }) => ({
    message,
    deliveryId,
    sequence,
    redelivered,
  }));

export const acquire = async (
  to: Recorder,
  who: string,
  queue: string,
  maxMessages: number,
  leaseSeconds: number,
  session?: SessionAt,
) => {
  const told = await to.call(
    who,
    { call: "acquire", queue, ...inContext(session) },
    {
      method: "POST",
      path: `/queues/${queue}/deliveries`,
      headers: contextOf(session),
      body: { maxMessages, leaseSeconds },
    },
    (body: DeliveriesBody) => ({ deliveries: deliveriesIn(body) }),
  );
  return told !== undefined && "deliveries" in told ? told.deliveries : [];
};

interface SettledBody {
  readonly outcomes: readonly { readonly status: string }[];
}

const statusesIn = (body: SettledBody) => ({ statuses: body.outcomes.map(({ status }) => status) });

const handed = (deliveries: readonly Handed[]): readonly Handed[] =>
  deliveries.map(({ message, deliveryId }) => ({ message, deliveryId }));

const idsOf = (deliveries: readonly Handed[]) => ({ deliveryIds: deliveries.map(({ deliveryId }) => deliveryId) });

export const accept = (to: Recorder, who: string, deliveries: readonly Handed[], session?: SessionAt, xid?: string) =>
  to.call(
    who,
    { call: "accept", deliveries: handed(deliveries), ...inContext(session, xid) },
    { method: "POST", path: "/deliveries/accept", headers: contextOf(session, xid), body: idsOf(deliveries) },
    statusesIn,
  );

export const release = (to: Recorder, who: string, deliveries: readonly Handed[]) =>
  to.call(
    who,
    { call: "release", deliveries: handed(deliveries) },
    { method: "POST", path: "/deliveries/release", body: idsOf(deliveries) },
    statusesIn,
  );

export const attach = (to: Recorder, who: string, name: string, timeoutSeconds: number) =>
  to.call(
    who,
    { call: "attach", session: { name, epoch: 0 } },
    { method: "PUT", path: `/sessions/${name}`, body: { timeoutSeconds } },
    ({ epoch }: { readonly epoch: number }) => ({ epoch }),
  );

export const detach = (to: Recorder, who: string, session: SessionAt) =>
  to.call(
    who,
    { call: "detach", session },
    { method: "DELETE", path: `/sessions/${session.name}`, headers: contextOf(session) },
    () => ({ done: true as const }),
  );

export const verb = (
  to: Recorder,
  who: string,
  call: "start" | "end" | "prepare" | "commit" | "rollback",
  xid: string,
  session?: SessionAt,
  body: Readonly<Record<string, unknown>> = {},
) =>
  to.call(
    who,
    { call, xid, ...inContext(session) },
    { method: "POST", path: `/dtx/${xid}/${call}`, headers: contextOf(session), body },
    ({ xa }: { readonly xa: string }) => ({ xa }),
  );

interface StatsBody {
  readonly stats: Readonly<Record<"available" | "leased" | "held" | "enqueued" | "settled" | "changeCounter", string>>;
}

export const stats = (to: Recorder, who: string, queue: string, isAtRest = false) =>
  to.call(
    who,
    { call: "stats", queue, ...(isAtRest && { isAtRest }) },
    { method: "GET", path: `/queues/${queue}` },
    (body: StatsBody) => {
      const { available, leased, held, enqueued, settled, changeCounter } = body.stats;
      return {
        stats: {
          available: Number(available),
          leased: Number(leased),
          held: Number(held),
          enqueued: Number(enqueued),
          settled: Number(settled),
          changes: Number(changeCounter),
        },
      };
    },
  );

export const outcome = (to: Recorder, xid: string) =>
  to.call(
    "the end",
    { call: "outcome", xid },
    { method: "GET", path: `/dtx/${xid}` },
    ({ state }: { readonly state: string }) => ({
      outcome: state === "committed" || state === "rolled-back" ? state : ("unknown" as const),
    }),
  );

/** Takes everything that stands on a queue, as one entry. Throws when an answer does not come: then nobody knows what was there. */
export const drain = async (to: Recorder, queue: string): Promise<void> => {
  const taken: Delivered[] = [];
  for (;;) {
    const reply = await to.send({
      method: "POST",
      path: `/queues/${queue}/deliveries`,
      body: { maxMessages: 500, settle: "none" },
    });
    if (reply === undefined || "refused" in reply) throw new Error(`the drain of ${queue} got no answer`);
    const some = deliveriesIn(reply.body as DeliveriesBody);
    taken.push(...some);
    if (some.length === 0) break;
  }
  to.drained(queue, taken);
};
