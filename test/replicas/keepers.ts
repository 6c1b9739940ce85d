/** Callers of a total loss that the soak does not have: they repeat what was not answered, under a key, until it is. */

import { routes } from "../history/broker.ts";
import { type Caller, newMessages, paced } from "../history/callers.ts";
import type { Told } from "../history/history.ts";
import { Recorder, type Reply, type Request } from "../history/recorder.ts";

const LARGE = 20_000;

/** Where keepers put what they have, besides the queues of the soak. */
export const heavy = "loss-heavy";

/** What was told of a call under a key, and how to ask again. */
export interface Kept {
  readonly request: Request;
  readonly told: unknown;
}

/** Calls under a key, or of messages with deduplication ids, are repeated until they are answered: that is one call. */
export class PatientRecorder extends Recorder {
  readonly kept: Kept[] = [];
  #isOver = false;

  /** From now on it is as with every other: no answer is an answer. */
  endPatience(): void {
    this.#isOver = true;
  }

  override async send(request: Request): Promise<Reply> {
    let reply = await super.send(request);
    if (!isKept(request)) return reply;
    while (reply === undefined && !this.#isOver) reply = await super.send(request);
    if (reply !== undefined && "body" in reply) this.kept.push({ request, told: reply.body });
    return reply;
  }
}

const isKept = ({ headers, body }: Request): boolean =>
  headers?.["idempotency-key"] !== undefined || JSON.stringify(body ?? "").includes('"deduplicationId"');

interface Enqueued {
  readonly messages: readonly { readonly queues: readonly { readonly queue: string; readonly sequence?: string }[] }[];
}

let keys = 0;

/** Small and large messages under idempotency keys and deduplication ids, to one queue and to several. */
export const keep = (caller: Caller): Promise<void> =>
  paced(caller, async () => {
    const { who, to, chance } = caller;
    const key = `${who}-${++keys}`;
    const names = newMessages(who, chance.whole(1, 3)).map((name) =>
      chance.isOneIn(3) ? `${name}${"x".repeat(LARGE)}` : name,
    );
    if (chance.isOneIn(3)) return publishKept(caller, key, names);
    const queue = chance.of([heavy, "soak-b", "soak-c", "soak-full"] as const);
    const isKeyed = chance.isOneIn(2);
    await to.call(
      who,
      { call: "enqueue", queue, messages: names },
      {
        method: "POST",
        path: `/queues/${queue}/messages`,
        headers: isKeyed ? { "idempotency-key": key } : {},
        body: {
          messages: names.map((body, i) => ({ body, ...(!isKeyed && { deduplicationId: `${key}-${i}` }) })),
        },
      },
      ({ messages }: Enqueued): Told => ({ sequences: messages.map(({ queues: [first] }) => first?.sequence ?? "") }),
    );
  });

const publishKept = async ({ who, to, chance }: Caller, key: string, names: readonly string[]): Promise<void> => {
  const { exchange, routingKey, queues } = chance.of(routes);
  // The checker knows copies of a publish by this end.
  const messages = names.map((name) => `${name}*`);
  await to.call(
    who,
    { call: "publish", exchange, queues, messages },
    {
      method: "POST",
      path: `/exchanges/${exchange}/messages`,
      headers: { "idempotency-key": key },
      body: { routingKey, messages: messages.map((body) => ({ body })) },
    },
    (body: Enqueued): Told => ({
      sequences: body.messages.flatMap((message) =>
        queues.map((name) => message.queues.find(({ queue }) => queue === name)?.sequence ?? ""),
      ),
    }),
  );
};

/** What a queue that was declared, and perhaps deleted, must be after everything: by the last answer that there was. */
export type Fate = "there" | "gone" | "unknown";

/** Declares queues with messages, and deletes some. */
export const declareAndDelete = async (caller: Caller, fates: Map<string, Fate>): Promise<void> => {
  let made = 0;
  await paced(caller, async () => {
    const { who, to, chance } = caller;
    const queue = `${who}-${++made}`;
    const path = `/queues/${queue}`;
    fates.set(queue, "unknown");
    const declared = await to.send({ method: "PUT", path, body: {} });
    if (declared !== undefined && "body" in declared) fates.set(queue, "there");
    await to.send({ method: "POST", path: `${path}/messages`, body: { messages: [{ body: queue }] } });
    if (!chance.isOneIn(2)) return;
    fates.set(queue, "unknown");
    const deleted = await to.send({ method: "DELETE", path });
    if (deleted !== undefined && "body" in deleted) fates.set(queue, "gone");
  });
};
