/** The calls that tell what has become of a session's commands, and the worker that runs them. */
import fc from "fast-check";
import { expect } from "vitest";
import { expectOk } from "../support/moves.ts";
import { process, rarely, steps } from "./command.ts";
import { work } from "./send.ts";
import type { World } from "./world.ts";

export const workNow = steps("work", {}, work, ({ line }) => line.open.length > 0 || line.onTheWay.length > 0);

const session = fc.nat(1);

export const completions = steps("completions", { at: process, session, after: fc.nat(6) }, async (w, p) => {
  await checkCompletions(w, w.sessions[p.session] ?? "", p.after, p.at);
});

/** All that it may read above an id, each once. */
const checkCompletions = async (w: World, name: string, after: number, at = 0): Promise<void> => {
  const answer = await w.client(at).completions(name, { after: String(after) });
  w.note(`completions ${name} after ${after}`, answer);
  if (w.isRefused(answer, w.broker.sessions.has(name) ? undefined : "not-found")) return;
  const { completions, completedThrough } = expectOk(answer);
  const expected = w.line.told(name, w.broker.nowMs).filter((id) => id > after);
  expect(completions.map(({ commandId }) => commandId)).toEqual(expected.map(String));
  expect(completedThrough).toBe(String(w.line.completedThrough(name)));
};

export const endLines = async (w: World): Promise<void> => {
  await work(w);
  for (const name of w.sessions) await checkCompletions(w, name, 0);
};

export const sync = steps(
  "sync",
  { at: process, session, isOld: rarely, hasEpoch: fc.boolean() },
  async (w, { at, session, isOld, hasEpoch }) => {
    const by = w.ref({ session, isOld });
    if (by === undefined) return;
    const { name } = by;
    const answer = await w.client(at, hasEpoch ? by : undefined).sync(name, 0);
    w.note(`sync ${name}`, answer);
    const missing = w.broker.sessions.has(name) ? undefined : "not-found";
    if (w.isRefused(answer, (hasEpoch ? w.broker.fence(by) : undefined) ?? missing)) return;
    const open = w.line.openOf(name);
    expect(answer.status).toBe(open.length === 0 ? 200 : 202);
    expect(answer.body).toMatchObject({ completedThrough: String(w.line.completedThrough(name)), open });
  },
);
