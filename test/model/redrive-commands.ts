/** Redrive: dead letters go back to where they came from, or to another queue. */
import fc from "fast-check";
import { expect } from "vitest";
import { browseAll } from "../support/moves.ts";
import { process, steps } from "./command.ts";
import type { Message, Queue } from "./values.ts";
import { shortBody, type World } from "./world.ts";

const from = fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 3, max: 4 }) }, { weight: 1, arbitrary: fc.nat(2) });
/** All to `c`, which has no dead letters of its own: there it may stand beside another copy with its id. */
const targets = fc.constantFrom("origins", "origins", "origins", "origins", "c", "itself", "nowhere");

export const redrive = steps(
  "redrive",
  { at: process, from, to: targets },
  async (w, p) => {
    const name = w.queues[p.from] ?? "";
    await w.lookForLetters(name);
    const queue = w.queue(name);
    const to = { origins: undefined, c: w.queues[2], itself: name, nowhere: `${w.prefix}none` }[p.to];
    const target = to === undefined ? undefined : w.queue(to);
    const answer = await w.client(p.at).redrive(name, to);
    w.note(`redrive ${name}${to === undefined ? "" : ` to ${to}`}`, answer);
    const isMissing = queue === undefined || (to !== undefined && target === undefined);
    if (w.isRefused(answer, to === name ? "invalid-argument" : isMissing ? "not-found" : undefined) || !queue) return;
    const letters = w.broker.available(queue).filter(({ origin }) => target !== undefined || origin !== undefined);
    const moved = w.broker.redrive(queue, target, (m, there) =>
      w.message(undefined, there, { body: m.body, ...(m.id !== undefined && { id: m.id }) }),
    );
    expect(answer.body).toEqual({ redriven: moved.length, left: letters.length - moved.length, more: false });
    for (const [there, of] of Map.groupBy(moved, (one) => one.queue)) {
      await find(
        w,
        there,
        of.map(({ message }) => message),
      );
    }
  },
  // Between partitions there is no order in which they would be moved.
  (w, p) => w.queue(w.queues[p.from] ?? "")?.settings.partitions !== 2,
);

/** They stand at the tail, in their order, and are no letters any more. */
const find = async (w: World, queue: Queue, messages: readonly Message[]): Promise<void> => {
  const browsed = await browseAll(w.client(0), queue.name);
  w.history.push(
    `  on ${queue.name}: ${browsed.map(({ body }) => shortBody(body)).join(" ")}`.replaceAll(w.prefix, ""),
  );
  for (const m of messages.toReversed()) {
    const at = browsed.findLastIndex(({ messageId }) => messageId === m.id);
    const [found] = at < 0 ? [] : browsed.splice(at, 1);
    expect(found, `${m.body} on ${queue.name}`).toMatchObject({ body: m.body });
    if (found === undefined) continue;
    expect(found.deadLetter).toBeUndefined();
    w.learn(m, found, queue);
  }
};
