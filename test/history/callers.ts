/** Who calls in a soak: each goes on until told to stop, and makes the same choices for the same seed. */
import { setTimeout as sleep } from "node:timers/promises";
import { allQueues, letters, queues, routes } from "./broker.ts";
import { accept, acquire, attach, detach, enqueue, publish, redrive, reject, release, stats, verb } from "./calls.ts";
import type { SessionAt } from "./history.ts";
import type { Chance } from "./random.ts";
import type { Recorder } from "./recorder.ts";

export interface Caller {
  readonly who: string;
  readonly to: Recorder;
  readonly chance: Chance;
  readonly isOver: () => boolean;
}

export const managers = ["manager-1", "manager-2", "manager-3"] as const;

let made = 0;
export const newMessages = (who: string, n: number): readonly string[] =>
  Array.from({ length: n }, () => `${who}/${++made}`);
let xids = 0;
const newXid = (): string => `1.${(++xids).toString(16).padStart(8, "0")}.0${xids % 10}`;

export const paced = async ({ chance, isOver }: Caller, round: () => Promise<void>, longestMs = 60): Promise<void> => {
  while (!isOver()) {
    await round();
    await sleep(chance.whole(0, longestMs));
  }
};

/** To one queue, now and then with a time to live, or to the queues of an exchange. */
export const produce = (caller: Caller): Promise<void> =>
  paced(caller, async () => {
    const { who, to, chance } = caller;
    const messages = newMessages(who, chance.whole(1, 5));
    if (chance.isOneIn(4)) await publish(to, who, chance.of(routes), messages);
    else {
      const ttlSeconds = chance.isOneIn(6) ? chance.whole(2, 20) : undefined;
      const isTransient = chance.isOneIn(6);
      const how = { ...(ttlSeconds !== undefined && { ttlSeconds }), ...(isTransient && { isTransient }) };
      await enqueue(to, who, chance.of(queues), messages, undefined, undefined, how);
    }
  });

/** Accepts, rejects, gives back, or lets the lease pass. */
export const consume = (caller: Caller): Promise<void> =>
  paced(caller, async () => {
    const { who, to, chance } = caller;
    const queue = chance.isOneIn(12) ? letters : chance.of(queues);
    const got = await acquire(to, who, queue, chance.whole(1, 6), chance.whole(1, 3));
    if (got.length === 0) return;
    const dice = chance.whole(1, 12);
    if (dice <= 2) await release(to, who, got);
    else if (dice <= 4) await reject(to, who, queue, got);
    else if (dice <= 10) await accept(to, who, got);
  });

/** An operator who has mended what the letters died of. */
export const operate = (caller: Caller): Promise<void> =>
  paced(
    caller,
    async () => {
      await redrive(caller.to, caller.who, letters);
    },
    5_000,
  );

/** Moves messages between queues in branches, and ends those in every way there is. */
export const manage = async (caller: Caller, name: string): Promise<void> => {
  let session: SessionAt | undefined;
  await paced(caller, async () => {
    const { who, to, chance } = caller;
    if (session === undefined || chance.isOneIn(8)) {
      const told = await attach(to, who, name, chance.whole(3, 8));
      session = told !== undefined && "epoch" in told ? { name, epoch: told.epoch } : undefined;
      if (session === undefined) return;
    }
    const xid = newXid();
    const started = await verb(to, who, "start", xid, session, { timeoutSeconds: chance.whole(2, 8) });
    if (started !== undefined && "refused" in started) session = undefined;
    if (session === undefined) return;
    await work(caller, xid, session);
    if (chance.isOneIn(10)) {
      // Its process dies: the next round takes the session over.
      session = undefined;
      return;
    }
    if (chance.isOneIn(12)) await detach(to, who, session);
    await verb(to, who, "end", xid, session);
    await finish(caller, xid, session);
  });
};

const work = async ({ who, to, chance }: Caller, xid: string, session: SessionAt): Promise<void> => {
  const queue = chance.isOneIn(12) ? letters : chance.of(queues);
  const got = await acquire(to, who, queue, chance.whole(1, 4), chance.whole(1, 5), session);
  if (got.length > 0) await accept(to, who, got, session, xid);
  // Now and then more than one commit can hold.
  const calls = chance.isOneIn(60) ? 110 : chance.whole(1, 4);
  for (let i = 0; i < calls; i++) {
    const messages = newMessages(who, chance.whole(1, 3));
    if (chance.isOneIn(5)) await publish(to, who, chance.of(routes), messages, session, xid);
    else await enqueue(to, who, chance.of(queues), messages, session, xid);
  }
};

const finish = async (caller: Caller, xid: string, session: SessionAt): Promise<void> => {
  const { who, to, chance } = caller;
  const how = chance.whole(1, 20);
  if (how <= 4) return settled(caller, () => verb(to, who, "commit", xid, session, { onePhase: true }));
  if (how <= 6) return settled(caller, () => verb(to, who, "rollback", xid, session));
  const prepared = await verb(to, who, "prepare", xid, session);
  if (prepared !== undefined && !("xa" in prepared && prepared.xa === "XA_OK")) return;
  if (how <= 14) return settled(caller, () => verb(to, who, "commit", xid, session));
  if (how <= 16) return settled(caller, () => verb(to, who, "rollback", xid, session));
  if (how === 17) {
    await Promise.all([verb(to, who, "commit", xid), verb(to, `${who}'s other hand`, "rollback", xid)]);
  }
  // Else it is left in doubt.
};

/** Repeats a call whose answer did not come, as a client does. */
const settled = async ({ isOver }: Caller, call: () => Promise<unknown>): Promise<void> => {
  for (let attempt = 0; attempt < 5 && (await call()) === undefined && !isOver(); attempt++) await sleep(200);
};

/** Attaches the managers' sessions under their hands. */
export const takeOver = (caller: Caller): Promise<void> =>
  paced(
    caller,
    async () => {
      await attach(caller.to, caller.who, caller.chance.of(managers), 5);
    },
    4_000,
  );

/** A transaction manager that was restarted: it decides what it finds in doubt. */
export const resolve = (caller: Caller): Promise<void> => paced(caller, () => decideInDoubt(caller, 3), 1_500);

/** Decides one in so many of the branches that are in doubt. */
export const decideInDoubt = async ({ who, to, chance }: Caller, oneIn: number): Promise<void> => {
  const reply = await to.send({ method: "GET", path: "/dtx?state=prepared&limit=100" });
  if (reply === undefined || "refused" in reply) return;
  const { branches } = reply.body as { readonly branches: readonly { readonly xid: string }[] };
  for (const { xid } of branches) {
    if (chance.isOneIn(oneIn)) await verb(to, who, chance.isOneIn(3) ? "rollback" : "commit", xid);
  }
};

export const watch = (caller: Caller): Promise<void> =>
  paced(
    caller,
    async () => {
      const queue = allQueues[caller.chance.whole(0, allQueues.length - 1)] ?? letters;
      await stats(caller.to, caller.who, queue);
    },
    400,
  );
