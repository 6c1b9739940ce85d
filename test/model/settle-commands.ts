/** The four calls that settle deliveries, given lately or long ago. */
import fc from "fast-check";
import { expect } from "vitest";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import { expectOk } from "../support/moves.ts";
import type { Settled } from "../support/shapes.ts";
import { acquireMessages, acquiring } from "./acquire-commands.ts";
import { branch, hasGiven, isBlind, isLater, onBranch, process, rarely, someone, steps, worker } from "./command.ts";
import { sendLater } from "./send.ts";
import type { Branch, Ref } from "./values.ts";
import { type Given, shortBody, tellBy, type World } from "./world.ts";

const picks = fc.array(fc.nat(9), { minLength: 1, maxLength: 4 });

/** Deliveries by how long ago they were given, 0 the latest. */
const picked = (w: World, numbers: readonly number[]): readonly Given[] =>
  numbers.flatMap((n) => w.given.at(-1 - (n % Math.max(1, w.given.length))) ?? []);

/** Dead letters of two queues in one call come in no promised order: the call names those of one. */
const ofOneQueue = (given: readonly Given[]): readonly Given[] =>
  given.filter(({ delivery }) => delivery.queue === given[0]?.delivery.queue);

export const accept = steps(
  "accept",
  { at: process, who: someone, picks, isLater },
  async (w, p) => {
    await acceptAll(w, p.at, w.ref(p.who), undefined, picked(w, p.picks), p.isLater);
  },
  hasGiven,
);

export const acceptInBranch = steps(
  "accept in branch",
  { at: process, who: worker, branch, picks, isBlind },
  async (w, p) => {
    const xid = w.xids[p.branch];
    await acceptAll(w, p.at, w.ref(p.who, xid), xid, picked(w, p.picks));
  },
  (w, p) => hasGiven(w) && onBranch(w, p),
);

/** Takes messages in a branch, and accepts them there. */
export const consumeInBranch = steps(
  "consume in branch",
  { ...acquiring, who: worker, branch, isRemoving: rarely, isBlind },
  async (w, p) => {
    const xid = w.xids[p.branch];
    const by = w.ref(p.who, xid);
    const before = w.given.length;
    await acquireMessages(w, p, by, xid);
    await acceptAll(w, p.at, by, xid, w.given.slice(before));
  },
  onBranch,
);

const acceptAll = async (
  w: World,
  at: number,
  by: Ref | undefined,
  xid: string | undefined,
  given: readonly Given[],
  isLater = false,
): Promise<void> => {
  const workplace = w.workplace(xid, by);
  const refusal = xid !== undefined && workplace === undefined ? ("illegal-state" as const) : undefined;
  const call = { word: "accepted", at, by, xid, given, refusal, isLater };
  await settle(
    w,
    call,
    (c, ids) => c.accept(ids),
    (done) => {
      for (const { message, queue } of deliveriesOf(done)) {
        if (workplace === undefined) w.broker.leave(queue, [message]);
        else if (message.state === "leased") {
          Object.assign(message, { state: "held", holder: workplace });
          workplace.removes.push({ queue, message });
        }
      }
    },
  );
};

export const release = steps(
  "release",
  { at: process, who: someone, picks, delaySeconds: fc.constantFrom(0, 0, 5, 30), isLater },
  async (w, { at, who, picks, delaySeconds, isLater }) => {
    const call = { word: "released", at, by: w.ref(who), given: ofOneQueue(picked(w, picks)), isLater };
    await settle(
      w,
      call,
      (c, ids) => c.release(ids, { delaySeconds }),
      (done) => {
        for (const { message } of deliveriesOf(done)) w.broker.free(message, delaySeconds * 1000);
        w.broker.settle();
      },
    );
  },
  hasGiven,
);

export const reject = steps(
  "reject",
  { at: process, who: someone, picks, isLater },
  async (w, { at, who, picks, isLater }) => {
    const call = { word: "rejected", at, by: w.ref(who), given: ofOneQueue(picked(w, picks)), isLater };
    await settle(
      w,
      call,
      (c, ids) => c.reject(ids),
      (done) => {
        const rejected = new Set(deliveriesOf(done).map(({ message }) => message));
        const queue = done[0]?.delivery.queue;
        if (queue === undefined) return;
        // They come to the dead-letter queue in the order of their own.
        const inOrder = queue.messages.filter((m) => rejected.has(m));
        w.broker.leave(queue, inOrder, "rejected");
      },
    );
  },
  hasGiven,
);

export const extend = steps(
  "extend",
  { at: process, who: someone, picks, leaseSeconds: fc.constantFrom(5, 60) },
  async (w, { at, who, picks, leaseSeconds }) => {
    const call = { word: "extended", at, by: w.ref(who), given: picked(w, picks) };
    await settle(
      w,
      call,
      (c, ids) => c.extend(ids, leaseSeconds),
      (done) => {
        const expiresAtMs = w.broker.nowMs + leaseSeconds * 1000;
        // A deadline that is later already stays.
        for (const { lease } of deliveriesOf(done))
          if (lease) lease.expiresAtMs = Math.max(lease.expiresAtMs, expiresAtMs);
      },
    );
  },
  hasGiven,
);

interface Settling {
  /** What an outcome says when it was done. */
  readonly word: string;
  readonly at: number;
  readonly by: Ref | undefined;
  readonly xid?: string | undefined;
  readonly given: readonly Given[];
  /** Of the call as a whole, after the fence. */
  readonly refusal?: "illegal-state" | undefined;
  /** As a command of its session. */
  readonly isLater?: boolean;
}

const settle = async (
  w: World,
  { word, at, by, xid, given, refusal, isLater = false }: Settling,
  call: (c: Client, ids: readonly string[]) => Promise<Answer<Settled>>,
  effect: (done: readonly Given[]) => void,
): Promise<void> => {
  if (given.length === 0) return;
  for (const name of new Set(given.map(({ delivery }) => delivery.queue.name))) await w.lookForLetters(name);
  const told = given.map(
    ({ delivery: { message, lease } }) => `${shortBody(message.body)}${lease === message.lease ? "" : "(old)"}`,
  );
  const ids = given.map(({ deliveryId }) => deliveryId);
  if (isLater && by !== undefined) {
    const touch = { isAlone: given.some(({ delivery }) => delivery.queue.name.endsWith(".dead")) };
    const said = `${word} ${told.join(" ")}`;
    await sendLater(
      w,
      { at, by, said, touch },
      (c) => call(c, ids),
      (answer) => {
        if (!w.isRefused(answer, undefined))
          effect(checkOutcomes(w, given, answer && expectOk(answer), word, undefined));
      },
    );
    return;
  }
  const answer = await call(w.client(at, by, xid), ids);
  const statuses = answer.problem?.code ?? answer.body.outcomes.map(({ status }) => status).join(" ");
  w.note(`${word}${tellBy(by, xid)} ${told.join(" ")} → ${statuses}`);
  if (w.isRefused(answer, w.broker.fence(by) ?? refusal)) return;
  effect(checkOutcomes(w, given, expectOk(answer), word, w.workplace(xid, by)));
};

/** One outcome each, in order, each as it must be; those that were settled, every one once. Nobody was told: what must be. */
const checkOutcomes = (
  w: World,
  given: readonly Given[],
  settled: Settled | undefined,
  word: string,
  workplace: Branch | undefined,
): readonly Given[] => {
  const outcomes = settled?.outcomes ?? [];
  if (settled !== undefined) {
    expect(outcomes.map(({ deliveryId }) => deliveryId)).toEqual(given.map(({ deliveryId }) => deliveryId));
  }
  const done = given.filter(({ delivery }, i) => {
    const allowed = w.broker.judge(delivery, workplace).map((outcome) => (outcome === "ok" ? word : outcome));
    if (settled === undefined) return allowed[0] === word;
    expect(allowed, `outcome of ${shortBody(delivery.message.body)}`).toContain(outcomes[i]?.status);
    return outcomes[i]?.status === word;
  });
  return [...new Map(done.map((one) => [one.delivery.message, one])).values()];
};

const deliveriesOf = (given: readonly Given[]) => given.map(({ delivery }) => delivery);
