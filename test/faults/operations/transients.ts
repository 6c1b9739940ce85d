/** Messages that need not be stored: handed to the command queue, and put on their queues by the workers. */
import type { InSession, Stage } from "../../interleavings/scenario.ts";
import { attached } from "../../interleavings/scenes.ts";
import { expectOk } from "../../support/moves.ts";
import { unique } from "../../support/names.ts";
import type { MessageInput, QueueSettings } from "../../support/shapes.ts";
import type { Operation } from "../operation.ts";
import { inSession, messagesOf, numbered, queueOf } from "./making.ts";

const DAY_SECONDS = 86_400;

const enqueue = "POST /queues/{queue}/messages";

interface Line {
  readonly q: string;
  readonly session: InSession;
}

/** A queue whose messages need not be stored, and a session that has sent these to it, a call of its own for each. */
const lineOf = async (
  stage: Stage,
  sent: readonly MessageInput[],
  settings: QueueSettings = { messageDurability: "never" },
): Promise<Line> => {
  const [q, session] = [await queueOf(stage, [], settings), await attached(stage, DAY_SECONDS)];
  for (const message of sent) expectOk(await inSession(stage.client, session).enqueue(q, [message]), 202);
  return { q, session };
};

/** Behind m01, which no worker has put there yet. */
const handsOn = (how: string, settings?: QueueSettings, more: Partial<MessageInput> = {}): Operation => ({
  route: enqueue,
  how,
  async setUp(stage) {
    const transient = messagesOf(numbered(2)).map((one, i) => ({
      ...one,
      deliveryMode: "transient" as const,
      ...(i > 0 && more),
    }));
    const { q, session } = await lineOf(stage, transient.slice(0, 1), settings);
    const headers = { "idempotency-key": unique("key") };
    return {
      look: { queues: { q } },
      send: (c) => inSession(c, session).enqueue(q, transient.slice(1), headers),
      line: {},
    };
  },
});

const applies = (how: string, settings: QueueSettings = {}): Operation => ({
  route: "worker/commands",
  how,
  async setUp(stage) {
    const { q } = await lineOf(stage, messagesOf(numbered(2)), { messageDurability: "never", ...settings });
    return { look: { queues: { q }, isLimited: settings.maxMessages !== undefined }, line: {} };
  },
});

export const transients: readonly Operation[] = [
  handsOn("that need not be stored"),
  handsOn("that need not be stored, in strict order", { strictOrder: true }),
  handsOn("that need not be stored, known by an id", {}, { deduplicationId: "d" }),
  {
    route: "POST /exchanges/{exchange}/messages",
    how: "to one queue that stores it and one that need not",
    mayLose: "r",
    async setUp(stage) {
      const exchange = unique("exchange");
      const [q, r] = [await queueOf(stage), await queueOf(stage, [], { messageDurability: "never" })];
      expectOk(await stage.client.declareExchange(exchange, { type: "fanout" }), 201);
      for (const queue of [q, r]) expectOk(await stage.client.bind(exchange, { queue }), 201);
      const headers = { "idempotency-key": unique("key") };
      return {
        look: { queues: { q, r } },
        send: (c) => c.publish(exchange, messagesOf(["m01"]), {}, headers),
        line: {},
      };
    },
  },
  applies("two messages that need not be stored"),
  applies("two messages that need not be stored, where one fits", { maxMessages: 1 }),
];
