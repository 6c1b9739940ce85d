/** The dtx calls. */
import fc from "fast-check";
import { expect } from "vitest";
import type { Answer } from "../support/http.ts";
import type { XaAnswer } from "../support/shapes.ts";
import { branch, isBlind, member, onBranch, process, rarely, someone, steps, worker } from "./command.ts";
import type { Ref, Verdict } from "./values.ts";
import type { Who, World } from "./world.ts";

const common = { at: process, branch };
const known = { ...common, isBlind };

/** The state that callers are told of. */
export const stateOf = (w: World, xid: string): string | undefined => {
  const b = w.broker.branches.get(xid);
  if (b?.state !== "open") return b?.state;
  if (b.associations.length === 0) return "idle";
  return b.associations.every((a) => a.isSuspended) ? "suspended" : "active";
};

const tell = (verb: string, xid: string, by: Ref | undefined, flags: object = {}): string =>
  `${verb} ${xid.slice(-1)}${by === undefined ? "" : ` by ${by.name}@${by.epoch}`} ${JSON.stringify(flags)}`;

interface StartFlags {
  readonly join: boolean;
  readonly resume: boolean;
  readonly timeoutSeconds: number;
}

export const start = steps(
  "start",
  { ...common, who: member, join: rarely, timeoutSeconds: fc.constantFrom(0, 0, 5, 600) },
  async (w, { at, branch, who, join, timeoutSeconds }) => {
    await startBranch(w, at, w.xids[branch] ?? "", w.ref(who), { join, resume: false, timeoutSeconds });
  },
);

export const join = steps(
  "join",
  { ...known, who: member, resume: rarely },
  async (w, { at, branch, who, resume }) => {
    await startBranch(w, at, w.xids[branch] ?? "", w.ref(who), { join: true, resume, timeoutSeconds: 0 });
  },
  onBranch,
);

export const resume = steps(
  "resume",
  { ...known, who: worker },
  async (w, { at, branch, who }) => {
    const xid = w.xids[branch] ?? "";
    await startBranch(w, at, xid, w.ref(who, xid), { join: false, resume: true, timeoutSeconds: 0 });
  },
  onBranch,
);

const startBranch = async (
  w: World,
  at: number,
  xid: string,
  by: Ref | undefined,
  flags: StartFlags,
): Promise<void> => {
  const answer = await w.client(at, by).start(xid, flags);
  w.note(tell("start", xid, by, flags), answer);
  const refusal = by === undefined ? "command-invalid" : w.broker.fence(by);
  checkVerdict(w, xid, answer, refusal ?? w.broker.start(xid, by ?? nobody, flags));
};

const nobody: Ref = { name: "", epoch: 0 };

const checkVerdict = (w: World, xid: string, answer: Answer<XaAnswer>, expected: Verdict): void => {
  expect(answer.problem?.code ?? answer.body.xa, answer.problem?.detail).toBe(expected);
  if (answer.problem === undefined) expect(answer.body.state).toBe(stateOf(w, xid));
};

export const end = steps(
  "end",
  { ...known, who: worker, suspend: rarely, fail: rarely },
  async (w, { at, branch, who, suspend, fail }) => {
    const xid = w.xids[branch] ?? "";
    await endBranch(w, at, xid, w.ref(who, xid), { suspend, fail });
  },
  onBranch,
);

const endBranch = async (
  w: World,
  at: number,
  xid: string,
  by: Ref | undefined,
  flags: { readonly suspend: boolean; readonly fail: boolean },
): Promise<void> => {
  const answer = await w.client(at, by).end(xid, flags);
  w.note(tell("end", xid, by, flags), answer);
  const refusal = by === undefined ? "command-invalid" : w.broker.fence(by);
  checkVerdict(w, xid, answer, refusal ?? w.broker.end(xid, by ?? nobody, flags));
};

type Verb = "prepare" | "commit" | "onePhase" | "rollback";

const verbs = fc.constantFrom<Verb>("prepare", "prepare", "commit", "commit", "onePhase", "rollback");
const manager = fc.oneof({ weight: 3, arbitrary: fc.constant<Who>("nobody") }, { weight: 1, arbitrary: someone });

export const complete = steps(
  "complete",
  { ...known, who: manager, verb: verbs },
  async (w, p) => {
    await completeBranch(w, w.xids[p.branch] ?? "", p.verb, w.ref(p.who), p.at);
  },
  onBranch,
);

/** Every session ends its part, then the branch is completed: what most transaction managers do. */
export const finish = steps(
  "finish",
  { ...known, verb: fc.constantFrom<Verb>("prepare", "prepare", "onePhase", "rollback") },
  async (w, p) => {
    const xid = w.xids[p.branch] ?? "";
    for (const { name, epoch } of w.broker.branches.get(xid)?.associations ?? []) {
      await endBranch(w, p.at, xid, { name, epoch }, { suspend: false, fail: false });
    }
    await completeBranch(w, xid, p.verb, undefined, p.at);
  },
  onBranch,
);

export const completeBranch = async (w: World, xid: string, verb: Verb, by?: Ref, at = 0): Promise<void> => {
  await lookForLettersIn(w, xid);
  const c = w.client(at, by);
  const answer = await {
    prepare: () => c.prepare(xid),
    commit: () => c.commit(xid),
    onePhase: () => c.commit(xid, { onePhase: true }),
    rollback: () => c.rollback(xid),
  }[verb]();
  w.note(tell(verb, xid, by), answer);
  const isKnown = w.broker.branches.has(xid);
  checkVerdict(w, xid, answer, w.broker.fence(by) ?? w.broker.complete(xid, verb));
  if (answer.problem === undefined) expect(answer.body.remembered).toBe(isKnown ? undefined : true);
};

/** What a branch does with a dead-letter queue depends on the letters that stand there. */
const lookForLettersIn = async (w: World, xid: string): Promise<void> => {
  const b = w.broker.branches.get(xid);
  const queues = [...(b?.adds ?? []), ...(b?.removes ?? [])].map(({ queue }) => queue);
  const names = queues.flatMap(({ name, settings }) => [name, settings.deadLetterQueue ?? name]);
  for (const name of new Set(names)) await w.lookForLetters(name);
};

export const heuristic = steps(
  "heuristic",
  { ...known, outcome: fc.constantFrom("commit" as const, "rollback" as const) },
  async (w, p) => {
    const xid = w.xids[p.branch] ?? "";
    await lookForLettersIn(w, xid);
    const answer = await w.client(p.at).heuristic(xid, p.outcome);
    w.note(tell("heuristic", xid, undefined, { outcome: p.outcome }), answer);
    checkVerdict(w, xid, answer, w.broker.complete(xid, p.outcome === "commit" ? "decideCommit" : "decideRollback"));
  },
);

export const forget = steps("forget", common, async (w, p) => {
  await forgetBranch(w, w.xids[p.branch] ?? "", p.at);
});

export const forgetBranch = async (w: World, xid: string, at = 0): Promise<void> => {
  const answer = await w.client(at).forget(xid);
  w.note(tell("forget", xid, undefined), answer);
  const expected = w.broker.complete(xid, "forget");
  if (w.isRefused(answer, expected === "XA_OK" ? undefined : (expected as "not-found"))) return;
  expect(answer.status).toBe(204);
};

export const timeout = steps(
  "timeout",
  { ...common, timeoutSeconds: fc.constantFrom(undefined, 0, 1, 5, 600) },
  async (w, { at, branch, timeoutSeconds }) => {
    const xid = w.xids[branch] ?? "";
    const b = w.broker.branches.get(xid);
    const c = w.client(at);
    const answer = timeoutSeconds === undefined ? await c.getTimeout(xid) : await c.setTimeout(xid, timeoutSeconds);
    w.note(tell("timeout", xid, undefined, { timeoutSeconds }), answer);
    const isSet = timeoutSeconds !== undefined;
    const isLate = isSet && b?.state.startsWith("heur");
    if (w.isRefused(answer, b === undefined ? "not-found" : isLate ? "illegal-state" : undefined) || !b) return;
    expect(answer.body).toEqual({ timeoutSeconds: isSet ? timeoutSeconds || 60 : b.timeoutSeconds });
    if (!isSet || b.state === "timed-out") return;
    b.timeoutSeconds = timeoutSeconds || 60;
    // Only a branch that has a deadline still gets a new one.
    if (b.state === "open") b.deadlineMs = w.broker.nowMs + b.timeoutSeconds * 1000;
  },
);

export const lookAtBranch = steps("branch", common, async (w, p) => {
  const xid = w.xids[p.branch] ?? "";
  const b = w.broker.branches.get(xid);
  const past = w.broker.outcomes.get(xid);
  const answer = await w.client(p.at).getBranch(xid);
  w.note(tell("branch", xid, undefined), answer);
  const isPast = past !== undefined && past.untilMs > w.broker.nowMs;
  if (w.isRefused(answer, b === undefined && !isPast ? "not-found" : undefined)) return;
  expect(answer.body.state).toBe(stateOf(w, xid) ?? past?.state);
  if (b === undefined) return;
  expect(answer.body).toMatchObject({
    xid,
    session: b.startedBy,
    timeoutSeconds: b.timeoutSeconds,
    messages: b.state.startsWith("heur") ? expect.any(Number) : b.adds.length + b.removes.length,
    associations: b.associations.map((a) => ({
      session: a.name,
      epoch: a.epoch,
      state: a.isSuspended ? "suspended" : "active",
    })),
  });
});

export const listPrepared = steps("recover", { at: process, limit: fc.constantFrom(1, 100) }, async (w, p) => {
  const listed = await w.client(p.at).recover(p.limit);
  w.note(`recover → ${listed.map(({ xid, state }) => `${xid.slice(-1)} ${state}`).join(", ")}`);
  const states = ["prepared", "heuristically-committed", "heuristically-rolled-back"];
  const expected = [...w.broker.branches].flatMap(([xid, b]) =>
    states.includes(b.state) ? [`${xid} ${b.state}`] : [],
  );
  expect(listed.map(({ xid, state }) => `${xid} ${state}`).toSorted()).toEqual(expected.toSorted());
});
