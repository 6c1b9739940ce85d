/** The calls on sessions, recovery, and the passing of time. */
import fc from "fast-check";
import { expect } from "vitest";
import { expectOk } from "../support/moves.ts";
import type { InDoubt, RecoveryReport } from "../support/shapes.ts";
import { process, rarely, steps } from "./command.ts";
import type { World } from "./world.ts";

const timeouts = fc.constantFrom(undefined, 5, 60, 600);
const session = fc.nat(2);

export const attach = steps("attach", { at: process, session, timeoutSeconds: timeouts }, async (w, p) => {
  await attachSession(w, w.sessions[p.session] ?? "", p.timeoutSeconds, p.at);
});

export const attachSession = async (w: World, name: string, timeoutSeconds = 300, at = 0): Promise<void> => {
  const before = w.broker.sessions.get(name);
  const answer = await w.client(at).attach(name, timeoutSeconds);
  w.note(`attach ${name} ${timeoutSeconds}`, answer);
  const epoch = (before?.epoch ?? 0) + 1;
  const expiresAtMs = w.broker.nowMs + timeoutSeconds * 1000;
  w.broker.sessions.set(name, { name, epoch, timeoutSeconds, expiresAtMs, isClosed: false });
  w.broker.settle();
  const ofIt = [...w.broker.branches].filter(([, b]) => b.workers.some((worker) => worker.name === name));
  w.forgetTimeouts(ofIt.map(([xid]) => xid));
  const { recovery, ...told } = expectOk(answer, before === undefined ? 201 : 200);
  const expiresAt = new Date(expiresAtMs).toISOString();
  expect(told).toEqual({ session: name, epoch, timeoutSeconds, expiresAt, resumed: before !== undefined });
  checkRecovery(w, recovery, new Set(ofIt.map(([xid]) => xid)));
};

/** In doubt is exactly what is prepared, with what it will add and remove. */
const checkRecovery = (w: World, told: RecoveryReport, of: ReadonlySet<string>): void => {
  expect({ finished: told.finished, unreadable: told.unreadable, more: told.more }).toEqual({
    finished: 0,
    unreadable: [],
    more: undefined,
  });
  const prepared = [...w.broker.branches].filter(([xid, b]) => b.state === "prepared" && of.has(xid));
  const expected = prepared.map(([xid, b]) => ({
    xid,
    enqueues: b.adds.map(({ queue, message }) => ({ queue: queue.name, messageId: message.id ?? "" })),
    dequeues: b.removes.map(({ queue, message }) => ({ queue: queue.name, messageId: message.id ?? "" })),
  }));
  const inOrder = (all: readonly ReturnType<typeof withoutSequences>[]) =>
    all.map(({ enqueues, ...rest }) => ({ ...rest, enqueues: enqueues.toSorted(byQueue) })).toSorted(byXid);
  expect(inOrder(told.inDoubt.map(withoutSequences))).toEqual(inOrder(expected));
};

const byXid = (a: { readonly xid: string }, b: { readonly xid: string }): number => (a.xid < b.xid ? -1 : 1);

/** Each queue's in their order; which queue of a publish comes first is nobody's promise. */
const byQueue = (a: { readonly queue: string }, b: { readonly queue: string }): number =>
  a.queue < b.queue ? -1 : a.queue > b.queue ? 1 : 0;

const withoutSequences = ({ xid, enqueues, dequeues }: InDoubt) => ({
  xid,
  enqueues,
  dequeues: dequeues.map(({ queue, messageId }) => ({ queue, messageId })),
});

export const keepAlive = steps(
  "keep alive",
  { at: process, session, isOld: rarely, timeoutSeconds: timeouts },
  async (w, { at, session, isOld, timeoutSeconds }) => {
    const by = w.ref({ session, isOld });
    if (by === undefined) return;
    const answer = await w.client(at, by).keepAlive(by.name, timeoutSeconds);
    w.note(`keep alive ${by.name}@${by.epoch} ${timeoutSeconds ?? ""}`, answer);
    if (w.isRefused(answer, w.broker.fence(by))) return;
    const known = w.broker.sessions.get(by.name);
    if (known === undefined) return;
    known.timeoutSeconds = timeoutSeconds ?? known.timeoutSeconds;
    known.expiresAtMs = w.broker.nowMs + known.timeoutSeconds * 1000;
    expect(answer.body).toMatchObject({ epoch: by.epoch, expiresAt: new Date(known.expiresAtMs).toISOString() });
  },
);

export const detach = steps("detach", { at: process, session, isOld: rarely, hasEpoch: fc.boolean() }, async (w, p) => {
  const by = w.ref({ session: p.session, isOld: p.isOld });
  if (by !== undefined) await detachSession(w, by, p.hasEpoch, p.at);
});

export const detachSession = async (
  w: World,
  by: { readonly name: string; readonly epoch: number },
  hasEpoch: boolean,
  at = 0,
): Promise<void> => {
  const before = w.broker.sessions.get(by.name);
  const associated = [...w.broker.branches].filter(([, b]) => b.associations.some((a) => a.name === by.name));
  const answer = await w.client(at, hasEpoch ? by : undefined).detach(by.name);
  w.note(`detach ${by.name}${hasEpoch ? `@${by.epoch}` : ""}`, answer);
  const isFenced = hasEpoch && before !== undefined && before.epoch !== by.epoch;
  if (w.isRefused(answer, before === undefined ? "not-found" : isFenced ? "session-fenced" : undefined)) return;
  expect(answer.status).toBe(204);
  if (before !== undefined) {
    if (w.broker.fateOf(before) === "alive") w.broker.detached.add(`${before.name}@${before.epoch}`);
    before.isClosed = true;
    w.broker.settle();
  }
  w.forgetTimeouts(associated.map(([xid]) => xid));
};

export const lookAtSession = steps("session", { at: process, session }, async (w, p) => {
  const name = w.sessions[p.session] ?? "";
  const known = w.broker.sessions.get(name);
  const answer = await w.client(p.at).getSession(name);
  w.note(`session ${name}`, answer);
  if (w.isRefused(answer, known === undefined ? "not-found" : undefined) || known === undefined) return;
  const fate = w.broker.fateOf(known);
  const state = fate === "alive" ? "attached" : fate === "detached" ? "detached" : "expired";
  const branches = [...w.broker.branches].flatMap(([xid, b]) => {
    const mine = b.associations.find((a) => a.name === name && a.epoch === known.epoch);
    return mine === undefined ? [] : [{ xid, state: mine.isSuspended ? "suspended" : "active" }];
  });
  const told = answer.body as unknown as { branches: { xid: string }[] };
  expect({ ...answer.body, branches: told.branches.toSorted(byXid) }).toMatchObject({
    session: name,
    epoch: known.epoch,
    state,
    branches: branches.toSorted(byXid),
    incompleteCommands: String(w.line.openOf(name).length),
  });
  // One that is over tells when it ended or, later, when somebody closed it.
  const latestMs = state === "expired" ? w.broker.nowMs : known.expiresAtMs;
  expect(Date.parse(answer.body.expiresAt)).toBeGreaterThanOrEqual(known.expiresAtMs);
  expect(Date.parse(answer.body.expiresAt)).toBeLessThanOrEqual(latestMs);
});

export const advance = steps(
  "time",
  {
    seconds: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(1, 4, 5, 6, 10, 11, 31, 61) },
      { weight: 1, arbitrary: fc.constantFrom(301, 1000, 86_401) },
    ),
    isScheduled: fc.boolean(),
  },
  async (w, { seconds, isScheduled }) => {
    w.advance(seconds);
    w.note(`${seconds} s pass${isScheduled ? ", the schedule runs" : ""}`);
    if (isScheduled) await w.schedule();
  },
);

export const recovery = steps("recovery", { at: process }, async (w, p) => {
  const answer = await w.client(p.at).recovery();
  w.note("recovery", answer);
  w.forgetTimeouts();
  checkRecovery(w, expectOk(answer), new Set(w.broker.branches.keys()));
});
