/** Sessions attached, kept, looked at and detached, while they work in a branch and hold a lease. */

import type { InSession, Stage } from "../../interleavings/scenario.ts";
import { attached } from "../../interleavings/scenes.ts";
import { unique } from "../../support/names.ts";
import type { Operation, Scene } from "../operation.ts";
import { idle, inSession, leasedOf, numbered, prepared, queueOf, type Work, type Working, working } from "./making.ts";

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

export const sessions: readonly Operation[] = [
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
