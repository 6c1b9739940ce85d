/** A run of the model: a beginning, the steps, and an end that leaves nothing behind. */
import fc from "fast-check";
import { expect } from "vitest";
import { expectOk } from "../support/moves.ts";
import { acquire, take } from "./acquire-commands.ts";
import * as branches from "./branch-commands.ts";
import type { Command } from "./command.ts";
import { enqueue, enqueueInBranch, publish, publishInBranch } from "./enqueue-commands.ts";
import * as exchanges from "./exchange-commands.ts";
import * as lines from "./line-commands.ts";
import * as queues from "./queue-commands.ts";
import { redrive } from "./redrive-commands.ts";
import * as sessions from "./session-commands.ts";
import { choices } from "./settings.ts";
import * as settling from "./settle-commands.ts";
import type { World } from "./world.ts";

/** Which queues there are when a run begins: settings by number, or none; and which exchanges. */
export const beginnings = fc.record({
  queues: fc.tuple(...[0, 1, 2, 3, 4].map(() => fc.option(choices, { freq: 12 }))),
  exchanges: exchanges.exchangesAtFirst,
});

export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 1, arbitrary: queues.declare },
  { weight: 1, arbitrary: queues.deleteQueue },
  { weight: 1, arbitrary: queues.purge },
  { weight: 3, arbitrary: queues.stats },
  { weight: 2, arbitrary: queues.browse },
  { weight: 1, arbitrary: queues.list },
  { weight: 9, arbitrary: enqueue },
  { weight: 7, arbitrary: enqueueInBranch },
  { weight: 6, arbitrary: publish },
  { weight: 4, arbitrary: publishInBranch },
  { weight: 1, arbitrary: exchanges.declare },
  { weight: 1, arbitrary: exchanges.remove },
  { weight: 2, arbitrary: exchanges.look },
  { weight: 3, arbitrary: exchanges.bind },
  { weight: 1, arbitrary: exchanges.unbind },
  { weight: 1, arbitrary: exchanges.list },
  { weight: 3, arbitrary: redrive },
  { weight: 10, arbitrary: acquire },
  { weight: 4, arbitrary: settling.accept },
  { weight: 3, arbitrary: settling.acceptInBranch },
  { weight: 8, arbitrary: settling.consumeInBranch },
  { weight: 4, arbitrary: settling.release },
  { weight: 3, arbitrary: settling.reject },
  { weight: 2, arbitrary: settling.extend },
  { weight: 6, arbitrary: lines.workNow },
  { weight: 2, arbitrary: lines.completions },
  { weight: 2, arbitrary: lines.sync },
  { weight: 2, arbitrary: sessions.attach },
  { weight: 1, arbitrary: sessions.keepAlive },
  { weight: 2, arbitrary: sessions.detach },
  { weight: 1, arbitrary: sessions.lookAtSession },
  { weight: 6, arbitrary: sessions.advance },
  { weight: 1, arbitrary: sessions.recovery },
  { weight: 7, arbitrary: branches.start },
  { weight: 3, arbitrary: branches.end },
  { weight: 2, arbitrary: branches.join },
  { weight: 1, arbitrary: branches.resume },
  { weight: 4, arbitrary: branches.finish },
  { weight: 8, arbitrary: branches.complete },
  { weight: 1, arbitrary: branches.heuristic },
  { weight: 1, arbitrary: branches.forget },
  { weight: 1, arbitrary: branches.timeout },
  { weight: 2, arbitrary: branches.lookAtBranch },
  { weight: 1, arbitrary: branches.listPrepared },
);

type Beginning = typeof beginnings extends fc.Arbitrary<infer T> ? T : never;

export const begin = async (w: World, beginning: Beginning): Promise<void> => {
  for (const [i, choice] of beginning.queues.entries()) {
    if (choice !== null) await queues.declareQueue(w, w.queues[i] ?? "", choice, 0);
  }
  await exchanges.beginExchanges(w, beginning.exchanges);
  for (const name of w.sessions.slice(0, 2)) await sessions.attachSession(w, name, 600);
};

/** Longer than any lease, delay or session that a step asks for. */
const ALL_OVER_SECONDS = 601;
/** From then on a deleted queue is buried by the schedule of a later run. */
const BURIED_SECONDS = 17 * 60;

/** Lets every lease and session end, brings every branch to its end, and takes what is left: the counts must be what comes. */
export const drain = async (w: World): Promise<void> => {
  await lines.endLines(w);
  for (const name of w.queues) await queues.checkStats(w, name, 0);
  w.advance(ALL_OVER_SECONDS);
  w.note(`${ALL_OVER_SECONDS} s pass`);
  for (const xid of w.xids) {
    if (w.broker.branches.get(xid)?.state.startsWith("heur")) await branches.forgetBranch(w, xid);
    await branches.completeBranch(w, xid, "rollback");
    expect(w.broker.branches.has(xid)).toBe(false);
  }
  for (const name of w.queues) {
    await drainQueue(w, name);
    if (w.queue(name) !== undefined) await queues.checkStats(w, name, 0);
  }
  await exchanges.endExchanges(w);
  for (const name of w.broker.queues.keys()) expectOk(await w.client(0).deleteQueue(name), 204);
  w.advance(BURIED_SECONDS);
};

const drainQueue = async (w: World, name: string): Promise<void> => {
  await w.lookForLetters(name);
  const queue = w.queue(name);
  if (queue === undefined) return;
  for (let last = -1; last !== 0; ) {
    const { deliveries } = expectOk(await w.client(0).acquire(name, { maxMessages: 500, settle: "none" }));
    take(w, queue, deliveries, 500, undefined, undefined);
    last = deliveries.length;
  }
  expect(queue.messages, "nothing is left").toEqual([]);
  // Whoever takes until nothing comes has met everything that time had ended.
  for (const m of queue.settled) m.isEnded = false;
};
