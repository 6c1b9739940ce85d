import { messageOf, type Piece, pieceOf } from "./lines.ts";
import type { Session, TransactionManager } from "./two-phase.ts";
import type { Victim } from "./victim.ts";

/** Lines, or messages, of one branch. */
export const BATCH = 50;

export interface Queues {
  readonly first: string;
  readonly second: string;
}

/** What the workers share. Each ends when the one before it has ended and nothing is left for it. */
export interface Work {
  readonly manager: TransactionManager;
  readonly victim: Victim;
  readonly queues: Queues;
  /** Told after every branch that was committed. */
  readonly onCommit: (role: "sent" | "moved" | "arrived", pieces: readonly Piece[]) => void;
  /** Throws when nothing was committed for too long. */
  readonly checkStall: () => void;
}

/** Publishes the batches to the first queue, a branch each. */
export async function produce(work: Work, session: Session, batches: readonly (readonly Piece[])[]): Promise<void> {
  for (const pieces of batches) {
    const messages = pieces.map(messageOf);
    while (true) {
      work.checkStall();
      const sent = await work.manager.attempt(session, async (branch) => {
        await branch.begin();
        await branch.publish(work.queues.first, messages);
        return pieces;
      });
      if (sent === undefined) continue;
      work.onCommit("sent", sent);
      break;
    }
  }
}

/** Takes from the first queue, accepts, and publishes to the second, all in one branch. */
export const move = (work: Work, session: Session, isFed: () => boolean): Promise<void> =>
  consume(work, session, isFed, { from: work.queues.first, to: work.queues.second, role: "moved" });

/** Takes from the second queue. What it took counts as read when the branch is committed. */
export const read = (work: Work, session: Session, isFed: () => boolean): Promise<void> =>
  consume(work, session, isFed, { from: work.queues.second, to: undefined, role: "arrived" });

interface Consuming {
  readonly from: string;
  readonly to: string | undefined;
  readonly role: "moved" | "arrived";
}

async function consume(work: Work, session: Session, isFed: () => boolean, consuming: Consuming): Promise<void> {
  const { from, to, role } = consuming;
  for (;;) {
    work.checkStall();
    const wasFed = isFed();
    const taken = await work.manager.attempt(session, async (branch) => {
      const deliveries = await branch.take(from, BATCH);
      if (deliveries.length === 0) return [];
      await branch.begin();
      await branch.accept(deliveries);
      if (to !== undefined) await branch.publish(to, deliveries.map(pieceOf).map(messageOf));
      return deliveries.map(pieceOf);
    });
    if (taken === undefined) continue;
    if (taken.length > 0) work.onCommit(role, taken);
    else if (wasFed && (await isEmpty(work.victim, from))) return;
  }
}

/** Nothing available, leased or held. A lost answer says nothing. */
async function isEmpty(victim: Victim, queue: string): Promise<boolean> {
  try {
    return (await left(victim, queue)) === 0;
  } catch {
    return false;
  }
}

/** How many messages a queue still has, in whatever state. */
export async function left(victim: Victim, queue: string): Promise<number> {
  const { stats } = await victim.call<{ stats: Record<"available" | "leased" | "held", string> }>(
    {},
    "GET",
    `/queues/${queue}`,
  );
  return Number(stats.available) + Number(stats.leased) + Number(stats.held);
}
