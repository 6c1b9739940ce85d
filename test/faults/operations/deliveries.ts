/** Deliveries settled, given back and kept longer. */
import type { Client } from "../../support/client.ts";
import type { Answer } from "../../support/http.ts";
import type { QueueSettings } from "../../support/shapes.ts";
import type { Operation } from "../operation.ts";
import { BYTES, inSession, leasedOf, numbered, queueOf, working } from "./making.ts";

interface Settling {
  readonly route: string;
  readonly how: string;
  readonly settle: (client: Client, ids: readonly string[]) => Promise<Answer<unknown>>;
  /** Of m01 to m03 in one run and m04, m05 in another. */
  readonly count: number;
  readonly settings?: QueueSettings;
  /** Its dead-letter queue is one of the scene. */
  readonly isDead?: true;
  readonly bytes?: number;
}

const settling = ({ route, how, settle, count, settings = {}, isDead, bytes = 0 }: Settling): Operation => ({
  route,
  how,
  isByMessage: true,
  async setUp(stage) {
    const d = await queueOf(stage);
    const q = await queueOf(
      stage,
      [numbered(3), numbered(2, 3)],
      { ...settings, ...(isDead && { deadLetterQueue: d }) },
      bytes,
    );
    const ids = await leasedOf(stage.client, q, count);
    return {
      look: { queues: { q, d }, isLimited: settings.maxMessages !== undefined },
      send: (c) => settle(c, ids),
    };
  },
});

const accepting: readonly Operation[] = (
  [
    { how: "one of a run", count: 1 },
    { how: "all of two runs", count: 5, bytes: BYTES },
    { how: "of a limited queue", count: 4, settings: { maxMessages: 6 } },
    { how: "of a queue with a retention", count: 5, settings: { retentionSeconds: 3600 }, bytes: BYTES },
  ] as const
).map((each) => settling({ ...each, route: "POST /deliveries/accept", settle: (c, ids) => c.accept(ids) }));

const releasing: readonly Operation[] = (
  [
    { how: "one of a run", count: 1 },
    { how: "all of two runs", count: 5 },
    { how: "delivered often enough", count: 4, settings: { maxDeliveries: 1 }, isDead: true, bytes: BYTES },
  ] as const
).map((each) => settling({ ...each, route: "POST /deliveries/release", settle: (c, ids) => c.release(ids) }));

const rejecting: readonly Operation[] = (
  [
    { how: "without a dead-letter queue", count: 2 },
    { how: "to a dead-letter queue", count: 5, isDead: true, bytes: BYTES },
    { how: "of a limited queue", count: 2, isDead: true, settings: { maxMessages: 6 } },
  ] as const
).map((each) => settling({ ...each, route: "POST /deliveries/reject", settle: (c, ids) => c.reject(ids, "no use") }));

const extending: readonly Operation[] = (
  [
    { how: "one of a run", count: 1 },
    { how: "all of two runs", count: 5 },
  ] as const
).map((each) => settling({ ...each, route: "POST /deliveries/extend", settle: (c, ids) => c.extend(ids, 55) }));

/** Accepted in a branch that is at work on two other queues. */
const enlisting = (how: string, counts: readonly number[], settings: QueueSettings = {}): Operation => ({
  route: "POST /deliveries/accept",
  how: `in a branch, ${how}`,
  async setUp(stage) {
    const { a, b, x, ...session } = await working(stage);
    const ids: string[] = [];
    const queues: Record<string, string> = { a, b };
    for (const [i, count] of counts.entries()) {
      const q = await queueOf(stage, [numbered(3, 10 * (i + 1)), numbered(2, 10 * (i + 1) + 3)], settings);
      ids.push(...(await leasedOf(stage.client, q, count)));
      queues[`q${i}`] = q;
    }
    return {
      look: { queues, branches: { x }, isLimited: false },
      send: (c) => inSession(c, session).within(x).accept(ids),
    };
  },
});

export const deliveries: readonly Operation[] = [
  ...accepting,
  enlisting("one of a run", [1]),
  enlisting("all of four runs of two queues", [5, 5]),
  ...releasing,
  ...rejecting,
  ...extending,
];
