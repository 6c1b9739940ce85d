/** Enqueue, at once and in a branch, with deduplication ids and idempotency keys. */
import fc from "fast-check";
import { expect } from "vitest";
import type { Answer } from "../support/http.ts";
import type { Enqueued, MessageInput } from "../support/shapes.ts";
import { branch, isBlind, onBranch, process, queue, someone, steps, worker } from "./command.ts";
import type { Branch, Message, Queue, Ref, Refused } from "./values.ts";
import { shortBody, tellBy, type Who, type World } from "./world.ts";

/** Of one message that is enqueued. */
interface Draft {
  readonly size: number;
  readonly ttlSeconds: number;
  /** 0: none. */
  readonly deduplication: number;
}

const drafts: fc.Arbitrary<readonly Draft[]> = fc.array(
  fc.record({
    size: fc.constantFrom(0, 0, 0, 0, 6, 1500),
    ttlSeconds: fc.constantFrom(0, 0, 0, 0, 5),
    deduplication: fc.constantFrom(0, 0, 0, 1, 2),
  }),
  { minLength: 1, maxLength: 4 },
);

const key = fc.constantFrom(0, 0, 0, 0, 1, 2);

export const enqueue = steps(
  "enqueue",
  { at: process, queue, who: someone, drafts, key, isAgain: fc.boolean() },
  (w, p) => enqueueMessages(w, { ...p, xid: undefined }),
);

export const enqueueInBranch = steps(
  "enqueue in branch",
  { at: process, queue, who: worker, branch, drafts, key, isAgain: fc.boolean(), isBlind },
  (w, p) => enqueueMessages(w, { ...p, xid: w.xids[p.branch] }),
  onBranch,
);

interface Enqueueing {
  readonly at: number;
  readonly queue: number;
  readonly who: Who;
  readonly xid: string | undefined;
  readonly drafts: readonly Draft[];
  readonly key: number;
  readonly isAgain: boolean;
}

const enqueueMessages = async (w: World, p: Enqueueing): Promise<void> => {
  const name = w.queues[p.queue] ?? "";
  await w.lookForLetters(name);
  const by = w.ref(p.who, p.xid);
  const idempotency = p.key === 0 ? undefined : `${w.prefix}k${p.key}`;
  const known = idempotency === undefined ? undefined : w.remembered.get(idempotency);
  if (idempotency !== undefined && known !== undefined && known.untilMs > w.broker.nowMs) {
    await enqueueAgain(w, p, idempotency, known);
    return;
  }
  const found = w.queue(name);
  const messages = p.drafts.map((draft) => w.message(by, found, messageOf(draft, found)));
  const inputs = messages.map(inputOf);
  const workplace = w.workplace(p.xid, by);
  const refusal = refusalOf(w, found, by, p.xid, workplace);
  const became = refusal === undefined && found ? w.broker.enqueue(found, messages, workplace) : undefined;
  const headers = idempotency === undefined ? {} : { "idempotency-key": idempotency };
  const answer = await w.client(p.at, by, p.xid).enqueue(name, inputs, headers);
  const said = `enqueue ${name}${tellBy(by, p.xid)} ${messages.map(tellMessage).join(" ")}`;
  w.note(idempotency === undefined ? said : `${said} key ${idempotency}`, answer);
  if (w.isRefused(answer, refusal ?? (became === undefined ? "resource-limit-exceeded" : undefined))) return;
  if (found === undefined || became === undefined) return;
  checkEnqueued(w, found, messages, became, answer, workplace);
  if (idempotency === undefined) return;
  const untilMs = w.broker.nowMs + 86_400_000;
  w.remembered.set(idempotency, {
    by: by?.name,
    xid: p.xid,
    queue: name,
    messages: inputs,
    answer: answer.body,
    untilMs,
  });
};

/** A key that is known: the same request is told the same again, whatever has happened since, another one is refused. */
const enqueueAgain = async (
  w: World,
  p: Enqueueing,
  idempotency: string,
  known: NonNullable<ReturnType<World["remembered"]["get"]>>,
): Promise<void> => {
  const by = known.by === undefined ? undefined : w.ref({ session: w.sessions.indexOf(known.by), isOld: false });
  const messages = (p.isAgain ? known.messages : [{ body: "another" }]) as readonly MessageInput[];
  const answer = await w.client(p.at, by, known.xid).enqueue(known.queue, messages, { "idempotency-key": idempotency });
  w.note(`enqueue ${known.queue} ${p.isAgain ? "again" : "something else"} key ${idempotency}`, answer);
  if (!w.isRefused(answer, p.isAgain ? undefined : "idempotency-key-reused")) expect(answer.body).toEqual(known.answer);
};

const refusalOf = (
  w: World,
  found: Queue | undefined,
  by: Ref | undefined,
  xid: string | undefined,
  workplace: Branch | undefined,
): Refused =>
  w.broker.fence(by) ??
  (found === undefined ? "not-found" : undefined) ??
  (xid !== undefined && workplace === undefined ? "illegal-state" : undefined);

const messageOf = ({ size, ttlSeconds, deduplication }: Draft, found: Queue | undefined): Partial<Message> =>
  ({
    size,
    // With a retention or a ring it would be open which rule ends the message first.
    ...(ttlSeconds > 0 &&
      found?.settings.retentionSeconds === null &&
      found.settings.overflow !== "ring" &&
      !found.name.endsWith(".dead") && { ttlMs: ttlSeconds * 1000 }),
    ...(deduplication > 0 && { deduplicationId: `d${deduplication}` }),
  }) as Partial<Message>;

const inputOf = (m: Message): MessageInput => ({
  body: m.body,
  ...(Number.isFinite(m.ttlMs) && { ttlSeconds: m.ttlMs / 1000 }),
  ...(m.deduplicationId !== undefined && { deduplicationId: m.deduplicationId }),
});

const tellMessage = (m: Message): string =>
  [shortBody(m.body), Number.isFinite(m.ttlMs) ? `ttl=${m.ttlMs / 1000}` : "", m.deduplicationId ?? ""]
    .filter(Boolean)
    .join("/");

const checkEnqueued = (
  w: World,
  found: Queue,
  messages: readonly Message[],
  became: readonly Message[],
  answer: Answer<Enqueued>,
  workplace: Branch | undefined,
): void => {
  expect(answer.status).toBe(201);
  expect(answer.body.completed).toBe(workplace === undefined);
  expect(answer.body.messages.length).toBe(messages.length);
  for (const [i, told] of answer.body.messages.entries()) {
    const m = became[i];
    if (m === undefined) continue;
    expect(told.duplicate, m.body).toBe(m !== messages[i]);
    const [place] = told.queues;
    expect(told.queues.map((one) => one.queue)).toEqual([found.name]);
    const waits = workplace?.adds.some(({ message }) => message === m) === true;
    expect(place?.sequence === undefined, `${m.body} has no sequence yet`).toBe(waits);
    w.learn(
      m,
      { messageId: told.messageId, ...(place?.sequence !== undefined && { sequence: place.sequence }) },
      found,
    );
  }
};
