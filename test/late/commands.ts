/**
 * Every verb that a session may have stored as a command, after the session was resumed: the fence stands in the commit that
 * stores it, so that nothing of an epoch that is over is ever stored, wherever it was held.
 */
import type { Client } from "../support/client.ts";
import { newQueue } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import type { Doing, MakeRow, Row } from "./late.ts";
import { fanout, LARGE, leased } from "./scenes.ts";

export const commandRows = (row: MakeRow): readonly Row[] => [
  row("POST /queues/{queue}/messages", "as a command", enqueueing("small")),
  row("POST /queues/{queue}/messages", "as a command, large", enqueueing(LARGE)),
  row("POST /exchanges/{exchange}/messages", "as a command", onExchange(publish)),
  row("POST /deliveries/accept", "as a command", settling("accept")),
  row("POST /deliveries/release", "as a command", settling("release")),
  row("POST /deliveries/reject", "as a command", settling("reject")),
  row("PUT /queues/{queue}", "as a command", async () => {
    const queue = unique();
    return (late) => late.later.declare(queue);
  }),
  row("DELETE /queues/{queue}", "as a command", async (session) => {
    const queue = await newQueue(session);
    return (late) => late.later.deleteQueue(queue);
  }),
  row("PUT /exchanges/{exchange}", "as a command", async () => {
    const exchange = unique("exchange");
    return (late) => late.later.declareExchange(exchange, { type: "fanout" });
  }),
  row(
    "DELETE /exchanges/{exchange}",
    "as a command",
    onExchange((late, { exchange }) => late.deleteExchange(exchange)),
  ),
  row("PUT /exchanges/{exchange}/bindings", "as a command", async (session) => {
    const [{ exchange }, queue] = [await fanout(session), await newQueue(session)];
    return (late) => late.later.bind(exchange, { queue });
  }),
  row(
    "DELETE /exchanges/{exchange}/bindings",
    "as a command",
    onExchange((late, { exchange, queues }) => late.unbind(exchange, { queue: queues[0] ?? "" })),
  ),
];

const enqueueing =
  (body: string): Doing =>
  async (session) => {
    const queue = await newQueue(session);
    return (late) => late.later.enqueue(queue, [{ body }]);
  };

const settling =
  (verb: "accept" | "release" | "reject"): Doing =>
  async (_session, stage) => {
    const { ids } = await leased(stage.others, ["m1", "m2"]);
    return (late) => late.later[verb](ids);
  };

type Fanout = Awaited<ReturnType<typeof fanout>>;

const onExchange =
  (verb: (late: Client, bound: Fanout) => ReturnType<Client["call"]>): Doing =>
  async (session) => {
    const bound = await fanout(session);
    return (late) => verb(late.later, bound);
  };

const publish = (late: Client, { exchange }: Fanout) => late.publish(exchange, [{ body: "all" }, { body: LARGE }]);
