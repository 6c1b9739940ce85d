/** Sessions attached, kept, looked at and detached, while they work in a branch and hold a lease. */

import type { InSession, Stage } from "../../interleavings/scenario.ts";
import { attached } from "../../interleavings/scenes.ts";
import { type Client, deferred } from "../../support/client.ts";
import type { Answer } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import type { Operation, Scene } from "../operation.ts";
import {
  idle,
  inSession,
  leasedOf,
  messagesOf,
  numbered,
  prepared,
  queueOf,
  type Work,
  type Working,
  working,
} from "./making.ts";

const DAY_SECONDS = 86_400;

/** A session with a lease on m11 of a queue of its own, and a branch that it has brought so far. */
const inWork = (
  route: string,
  how: string,
  bring: (stage: Stage, work: Work) => Promise<Working>,
  send: (session: InSession) => Scene["send"],
  sessionSeconds = DAY_SECONDS,
  waitMs = 0,
): Operation => ({
  route,
  how,
  async setUp(stage) {
    const session = await attached(stage, sessionSeconds);
    const q = await queueOf(stage, [numbered(2, 10)]);
    await leasedOf(inSession(stage.client, session), q, 1);
    const { a, b, x } = await bring(stage, { session });
    stage.wait(waitMs);
    const request = send(session);
    return {
      look: { queues: { a, b, q }, branches: { x }, sessions: { s: session.session } },
      ...(request !== undefined && { send: request }),
    };
  },
});

const attach = "PUT /sessions/{session}";
const detach = "DELETE /sessions/{session}";

const resumes =
  ({ session }: InSession): Scene["send"] =>
  (c) =>
    c.attach(session, DAY_SECONDS);
const keepsAlive =
  (session: InSession): Scene["send"] =>
  (c) =>
    inSession(c, session).keepAlive(session.session, DAY_SECONDS);
const detaches =
  (session: InSession): Scene["send"] =>
  (c) =>
    inSession(c, session).detach(session.session);

/** A session in whose line two commands stand that no worker has done. */
const inLine = (route: string, send: (client: Client, session: string) => Promise<Answer<unknown>>): Operation => ({
  route,
  how: "with two commands in line",
  async setUp(stage) {
    const session = await attached(stage, DAY_SECONDS);
    const q = await queueOf(stage);
    for (const body of numbered(2))
      deferred(await inSession(stage.client, session).later.enqueue(q, messagesOf([body])));
    return {
      look: { queues: { q }, sessions: { s: session.session } },
      send: (c) => send(inSession(c, session), session.session),
    };
  },
});

export const sessions: readonly Operation[] = [
  inLine("GET /sessions/{session}/completions", (c, session) => c.completions(session)),
  inLine("POST /sessions/{session}/sync", (c, session) => c.sync(session, 0)),
  {
    route: attach,
    how: "a new one",
    async setUp() {
      const s = unique("session");
      return { look: { sessions: {} }, send: (c) => c.attach(s, DAY_SECONDS) };
    },
  },
  inWork(attach, "resuming one with a branch at work", working, resumes),
  inWork(attach, "resuming one with a prepared branch", prepared, resumes),
  inWork(attach, "resuming one that has expired", working, resumes, 60, 61_000),
  inWork(attach, "keeping alive", working, keepsAlive),
  inWork(attach, "keeping alive what has expired", working, keepsAlive, 60, 61_000),
  inWork(
    "GET /sessions/{session}",
    "with a branch at work",
    working,
    ({ session }) =>
      (c) =>
        c.getSession(session),
  ),
  inWork(detach, "with a branch at work", working, detaches),
  inWork(detach, "with an idle branch", idle, detaches),
];
