/** The calls of the soak, each as it is sent and as the history keeps it. */
import {
  type Completed,
  type Counts,
  copyOf,
  type Delivered,
  type Handed,
  type QueueRules,
  type Sending,
  type SessionAt,
} from "./history.ts";
import type { Recorder } from "./recorder.ts";

const contextOf = (session: SessionAt | undefined, xid?: string, isLater = false): Record<string, string> => ({
  ...(session !== undefined && { session: session.name, "session-epoch": String(session.epoch) }),
  ...(isLater && { prefer: "respond-async" }),
  ...(xid !== undefined && { xid }),
});

const inContext = (session: SessionAt | undefined, xid?: string) => ({
  ...(session !== undefined && { session }),
  ...(xid !== undefined && { xid }),
});

interface EnqueuedBody {
  readonly messages: readonly { readonly queues: readonly { readonly queue: string; readonly sequence?: string }[] }[];
}

/** Of a call that may have become a command. */
const orCommand =
  <B, T>(read: (body: B) => T) =>
  (body: B | { readonly commandId: string }): T | { readonly commandId: string } =>
    isCommand(body) ? { commandId: body.commandId } : read(body);

const isCommand = (body: unknown): body is { readonly commandId: string } =>
  typeof body === "object" && body !== null && "commandId" in body;

const modeOf = ({ isTransient = false }: Sending) => (isTransient ? { deliveryMode: "transient" } : {});

export const declare = (to: Recorder, who: string, queue: string, rules: QueueRules, leaseSeconds: number) =>
  to.call(
    who,
    { call: "declare", queue, rules },
    { method: "PUT", path: `/queues/${queue}`, body: { ...rules, leaseSeconds } },
    () => ({ done: true as const }),
  );

export const enqueue = (
  to: Recorder,
  who: string,
  queue: string,
  messages: readonly string[],
  session?: SessionAt,
  xid?: string,
  { ttlSeconds, ...how }: Sending & { readonly ttlSeconds?: number } = {},
) =>
  to.call(
    who,
    {
      call: "enqueue",
      queue,
      messages,
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...inContext(session, xid),
      ...how,
    },
    {
      method: "POST",
      path: `/queues/${queue}/messages`,
      headers: contextOf(session, xid, how.isLater),
      body: {
        messages: messages.map((body) => ({ body, ...modeOf(how), ...(ttlSeconds !== undefined && { ttlSeconds }) })),
      },
    },
    orCommand((body: EnqueuedBody) => ({
      sequences: body.messages.map(({ queues: [first] }) => first?.sequence ?? ""),
    })),
  );

/** An exchange's name, a routing key, and the queues that its bindings lead to. */
export interface Route {
  readonly exchange: string;
  readonly routingKey: string;
  readonly queues: readonly string[];
}

/** Bodies of a publish end so: its copies are known by their queues too. */
const PUBLISHED = "*";

export const publish = (
  to: Recorder,
  who: string,
  { exchange, routingKey, queues }: Route,
  names: readonly string[],
  session?: SessionAt,
  xid?: string,
  how: Sending = {},
) => {
  const messages = names.map((name) => `${name}${PUBLISHED}`);
  return to.call(
    who,
    { call: "publish", exchange, queues, messages, ...inContext(session, xid), ...how },
    {
      method: "POST",
      path: `/exchanges/${exchange}/messages`,
      headers: contextOf(session, xid, how.isLater),
      body: { routingKey, messages: messages.map((body) => ({ body, ...modeOf(how) })) },
    },
    orCommand((body: EnqueuedBody) => ({
      sequences: body.messages.flatMap((message) =>
        queues.map((name) => message.queues.find(({ queue }) => queue === name)?.sequence ?? ""),
      ),
    })),
  );
};

interface DeliveriesBody {
  readonly deliveries: readonly {
    readonly body: string;
    readonly deliveryId: string;
    readonly sequence: string;
    readonly redelivered: boolean;
    readonly deadLetter?: { readonly queue: string; readonly reason: string; readonly deliveryCount: number };
  }[];
}

const deliveriesIn = (body: DeliveriesBody, from: string): readonly Delivered[] =>
  body.deliveries.map(({ body: message, deliveryId, sequence, redelivered, deadLetter }) => ({
    message: message.endsWith(PUBLISHED) ? copyOf(message, deadLetter?.queue ?? from) : message,
    deliveryId,
    sequence,
    redelivered,
    ...(deadLetter !== undefined && {
      dead: { queue: deadLetter.queue, reason: deadLetter.reason, deliveryCount: deadLetter.deliveryCount },
    }),
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
    (body: DeliveriesBody) => ({ deliveries: deliveriesIn(body, queue) }),
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

export const accept = (
  to: Recorder,
  who: string,
  deliveries: readonly Handed[],
  session?: SessionAt,
  xid?: string,
  isLater = false,
) =>
  to.call(
    who,
    { call: "accept", deliveries: handed(deliveries), ...inContext(session, xid), ...(isLater && { isLater }) },
    { method: "POST", path: "/deliveries/accept", headers: contextOf(session, xid, isLater), body: idsOf(deliveries) },
    orCommand(statusesIn),
  );

interface CompletionsBody {
  readonly completions: readonly {
    readonly commandId: string;
    readonly status: number;
    readonly body: Partial<EnqueuedBody & SettledBody & { readonly code: string }> | null;
  }[];
  readonly completedThrough: string;
}

const completedIn = ({ completions, completedThrough }: CompletionsBody) => ({
  completions: completions.map(({ commandId, status, body }): Completed => {
    const { messages, outcomes, code } = body ?? {};
    return {
      id: commandId,
      status,
      ...(status >= 400 && { refused: String(code) }),
      ...(messages !== undefined && {
        places: messages.map(({ queues }) =>
          Object.fromEntries(queues.map(({ queue, sequence = "" }) => [queue, sequence])),
        ),
      }),
      ...(outcomes !== undefined && { statuses: outcomes.map((outcome) => outcome.status) }),
    };
  }),
  through: completedThrough,
});

export const completions = (to: Recorder, who: string, name: string, after: string, isAtRest = false) =>
  to.call(
    who,
    { call: "completions", session: { name, epoch: 0 }, after, ...(isAtRest && { isAtRest }) },
    { method: "GET", path: `/sessions/${name}/completions?after=${after}` },
    completedIn,
  );

export const release = (to: Recorder, who: string, deliveries: readonly Handed[]) =>
  to.call(
    who,
    { call: "release", deliveries: handed(deliveries) },
    { method: "POST", path: "/deliveries/release", body: idsOf(deliveries) },
    statusesIn,
  );

/** To the dead-letter queue of theirs, or dropped where there is none. */
export const reject = (to: Recorder, who: string, queue: string, deliveries: readonly Handed[]) =>
  to.call(
    who,
    { call: "reject", queue, deliveries: handed(deliveries) },
    { method: "POST", path: "/deliveries/reject", body: { ...idsOf(deliveries), reason: "the soak says so" } },
    statusesIn,
  );

export const redrive = (to: Recorder, who: string, queue: string) =>
  to.call(
    who,
    { call: "redrive", queue },
    { method: "POST", path: `/queues/${queue}/redrive`, body: {} },
    ({ redriven }: { readonly redriven: number }) => ({ redriven }),
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
  readonly stats: Readonly<Record<Exclude<keyof Counts, "changes"> | "changeCounter", string>>;
}

export const stats = (to: Recorder, who: string, queue: string, isAtRest = false) =>
  to.call(
    who,
    { call: "stats", queue, ...(isAtRest && { isAtRest }) },
    { method: "GET", path: `/queues/${queue}` },
    (body: StatsBody) => {
      const { available, leased, held, enqueued, settled, deadLettered, changeCounter } = body.stats;
      return {
        stats: {
          available: Number(available),
          leased: Number(leased),
          held: Number(held),
          enqueued: Number(enqueued),
          settled: Number(settled),
          deadLettered: Number(deadLettered),
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
    const some = deliveriesIn(reply.body as DeliveriesBody, queue);
    taken.push(...some);
    if (some.length === 0) break;
  }
  to.drained(queue, taken);
};
