/** Commands of a session: stored, run by the workers, failed too often, and waited for. */

import { completionsOf } from "../../interleavings/completions.ts";
import type { InSession, Stage } from "../../interleavings/scenario.ts";
import { attached } from "../../interleavings/scenes.ts";
import type { Client } from "../../support/client.ts";
import { deferred } from "../../support/client.ts";
import type { Answer } from "../../support/http.ts";
import { expectOk } from "../../support/moves.ts";
import { unique } from "../../support/names.ts";
import type { Line, Operation, Scene, Send } from "../operation.ts";
import { inSession, LEASE_SECONDS, leasedOf, messagesOf, numbered, queueOf } from "./making.ts";
import { type Request, type Requested, requests } from "./requests.ts";

const DAY_SECONDS = 86_400;

/** Everyone is told of the session's commands, and what else there is to tell. */
const telling =
  ({ session }: InSession, tell: Send | undefined, { isAwaited }: Line): Send =>
  async (c) => {
    const [told, also] = [await completionsOf(c, session), await tell?.(c)];
    // A call whose time is over gives its command up: the next one has another id.
    const completions = isAwaited === true ? told.filter((text) => !text.startsWith("all through")) : told;
    const body = { completions, also: also?.problem?.code ?? (also?.body as object | undefined) };
    return { ...(await c.health()), body };
  };

const sceneOf = (session: InSession, { look, tell }: Requested, line: Line = {}): Omit<Scene, "send"> => ({
  look: { ...look, sessions: { s: session.session } },
  tell: telling(session, tell, line),
  line,
});

const shown = ({ isByMessage, isLarge, mayLose }: Request): Partial<Operation> => ({
  ...(isByMessage && { isByMessage }),
  ...(isLarge && { isLarge }),
  ...(mayLose !== undefined && { mayLose }),
});

/** The request is stored as a command. */
const stored = (request: Request): Operation => ({
  route: request.route,
  how: `as a command, ${request.how}`,
  ...shown(request),
  async setUp(stage) {
    const session = await attached(stage, DAY_SECONDS);
    const requested = await request.make(stage, session);
    return { ...sceneOf(session, requested), send: (c) => requested.send(inSession(c, session).later) };
  },
});

/** The workers run the command. */
const run = (request: Request): Operation => ({
  route: "worker/commands",
  how: `${request.route} ${request.how}`,
  ...shown(request),
  async setUp(stage) {
    const session = await attached(stage, DAY_SECONDS);
    const requested = await request.make(stage, session);
    deferred(await requested.send(inSession(stage.client, session).later));
    return sceneOf(session, requested);
  },
});

/** Commands in a row: two for one queue, one for another, which fails. */
const inLine = async (stage: Stage): Promise<{ readonly session: InSession; readonly requested: Requested }> => {
  const session = await attached(stage, DAY_SECONDS);
  const { later } = inSession(stage.client, session);
  const [q, r] = [await queueOf(stage, [["m00"]]), await queueOf(stage, [["m10"]], { maxMessages: 1 })];
  for (const body of numbered(2)) deferred(await later.enqueue(q, messagesOf([body])));
  deferred(await later.enqueue(r, messagesOf(["m11"])));
  const headers = { "idempotency-key": unique("key") };
  return {
    session,
    requested: { look: { queues: { q, r } }, send: (c) => c.enqueue(q, messagesOf(["m03"]), headers) },
  };
};

const onLine = (
  route: string,
  how: string,
  line: Line = {},
  send?: (
    client: Client,
    scene: { readonly session: InSession; readonly requested: Requested },
  ) => Promise<Answer<unknown>>,
): Operation => ({
  route,
  how,
  async setUp(stage) {
    const scene = await inLine(stage);
    const { session, requested } = scene;
    return { ...sceneOf(session, requested, line), ...(send !== undefined && { send: (c) => send(c, scene) }) };
  },
});

/** An accept in line, of two of the three messages that its session has taken. */
const settling = async (stage: Stage) => {
  const session = await attached(stage, DAY_SECONDS);
  const q = await queueOf(stage, [numbered(3)]);
  const inside = inSession(stage.client, session);
  const [first = "", second = ""] = await leasedOf(inside, q, 3);
  deferred(await inside.later.accept([first, second]));
  return { session, q };
};

const onSettling = (
  route: string,
  how: string,
  send: (client: Client, scene: { readonly session: InSession; readonly q: string }) => Promise<Answer<unknown>>,
  bring: (stage: Stage, session: InSession) => Promise<unknown> = async () => {},
): Operation => ({
  route,
  how,
  async setUp(stage) {
    const scene = await settling(stage);
    await bring(stage, scene.session);
    return { look: { queues: { q: scene.q } }, line: {}, send: (c) => send(c, scene) };
  },
});

const enqueue = "POST /queues/{queue}/messages";

export const commands: readonly Operation[] = [
  // How much it is makes no difference before it runs.
  ...requests.filter(({ isLarge }) => isLarge !== true).map(stored),
  ...requests.map(run),
  onLine("worker/commands", "three in a row, one of which fails"),
  onLine("worker/failed-commands", "the first of three in a row"),
  onLine("schedule/wake", "of three commands in a row whose wakes were lost", { isLost: true }),
  onLine(enqueue, "behind three commands, waited for", { isAwaited: true }, (c, { session, requested }) =>
    requested.send(inSession(c, session)),
  ),
  onLine(enqueue, "as a command behind three", {}, (c, { session, requested }) =>
    requested.send(inSession(c, session).later),
  ),
  onSettling("DELETE /sessions/{session}", "with an accept in line", (c, { session }) => c.detach(session.session)),
  onSettling("PUT /sessions/{session}", "resuming one with an accept in line", (c, { session }) =>
    c.attach(session.session, DAY_SECONDS),
  ),
  onSettling(
    "POST /queues/{queue}/deliveries",
    "of what a session has left with an accept in line",
    (c, { q }) => c.acquire(q, { maxMessages: 10, leaseSeconds: LEASE_SECONDS }),
    async (stage, { session }) => expectOk(await stage.client.detach(session), 204),
  ),
  onLine(
    "PUT /sessions/{session}",
    "resuming one with three commands whose wakes were lost",
    { isLost: true },
    (c, { session }) => c.attach(session.session, DAY_SECONDS),
  ),
];
