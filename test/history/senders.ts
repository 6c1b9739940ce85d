/** Sessions that send commands and read what these have come to. */
import { queues, routes, senderQueues } from "./broker.ts";
import { type Caller, newMessages, paced } from "./callers.ts";
import { accept, acquire, attach, completions, detach, enqueue, publish } from "./calls.ts";
import type { Sending, SessionAt } from "./history.ts";

export const senders = ["sender-1", "sender-2"] as const;

/** Enqueues, publishes and accepts, some as commands and some not, and reads completions from where it has read to. */
export const send = async (caller: Caller, name: string): Promise<void> => {
  let session: SessionAt | undefined;
  let read = "0";
  await paced(caller, async () => {
    const { who, to, chance } = caller;
    if (session === undefined || chance.isOneIn(25)) {
      const told = await attach(to, who, name, chance.whole(20, 60));
      session = told !== undefined && "epoch" in told ? { name, epoch: told.epoch } : undefined;
      if (session === undefined) return;
    }
    const told = chance.isOneIn(4) ? await consume(caller, session) : await put(caller, session);
    if (told !== undefined && "refused" in told && told.refused === "session-fenced") session = undefined;
    if (chance.isOneIn(4)) {
      // Now and then from the beginning: what was told is told again.
      const found = await completions(to, who, name, chance.isOneIn(5) ? "0" : read);
      if (found !== undefined && "through" in found) read = found.through;
    }
    if (session !== undefined && chance.isOneIn(60)) {
      await detach(to, who, session);
      session = undefined;
    }
  });
};

const put = async ({ who, to, chance }: Caller, session: SessionAt) => {
  const messages = newMessages(who, chance.whole(1, 3));
  const how: Sending = {
    ...(chance.isOneIn(3) && { isTransient: true }),
    ...(!chance.isOneIn(3) && { isLater: true }),
  };
  return chance.isOneIn(6)
    ? publish(to, who, chance.of(routes), messages, session, undefined, how)
    : enqueue(to, who, chance.of(senderQueues), messages, session, undefined, how);
};

const consume = async ({ who, to, chance }: Caller, session: SessionAt) => {
  const got = await acquire(to, who, chance.of(queues), chance.whole(1, 4), chance.whole(1, 4), session);
  return got.length === 0 ? undefined : accept(to, who, got, session, undefined, chance.isOneIn(2));
};
