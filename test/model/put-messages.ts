/** What every step does that puts messages: on one queue, or on those that an exchange names; at once, or in a branch. */
import fc from "fast-check";
import { expect } from "vitest";
import type { Answer } from "../support/http.ts";
import type { Enqueued, MessageInput } from "../support/shapes.ts";
import { process } from "./command.ts";
import type { Branch, Headers, Message, Placed, Queue, Refused } from "./values.ts";
import { type Remembered, shortBody, tellBy, type Who, type World } from "./world.ts";

/** Of one message that is put. */
interface Draft {
  readonly size: number;
  readonly ttlSeconds: number;
  /** 0: none. */
  readonly deduplication: number;
  readonly headers: Headers;
}

const drafts: fc.Arbitrary<readonly Draft[]> = fc.array(
  fc.record({
    size: fc.constantFrom(0, 0, 0, 0, 6, 1500),
    ttlSeconds: fc.constantFrom(0, 0, 0, 0, 5),
    deduplication: fc.constantFrom(0, 0, 0, 1, 2),
    headers: fc.constantFrom<Headers>({}, { k: "v" }, { k: "w" }, { k: "v", n: 1 }, { n: 1 }),
  }),
  { minLength: 1, maxLength: 4 },
);

export const putting = { at: process, drafts, key: fc.constantFrom(0, 0, 0, 0, 1, 2), isAgain: fc.boolean() };

export interface Putting {
  readonly at: number;
  readonly who: Who;
  readonly xid: string | undefined;
  readonly drafts: readonly Draft[];
  /** Number of its idempotency key, 0: none. */
  readonly key: number;
  /** With a key that is known: the same request. */
  readonly isAgain: boolean;
  /** For the history. */
  readonly word: string;
  readonly path: string;
  /** Beside the messages. */
  readonly body: object;
  readonly isMandatory: boolean;
  readonly missing: Refused;
  readonly routeOf: (headers: Headers) => readonly Queue[];
}

/** Puts them, and holds the answer against the reference; how many went nowhere, undefined unless they were put by this call. */
export const putMessages = async (w: World, p: Putting): Promise<number | undefined> => {
  const by = w.ref(p.who, p.xid);
  const idempotency = p.key === 0 ? undefined : `${w.prefix}k${p.key}`;
  const known = idempotency === undefined ? undefined : w.remembered.get(idempotency);
  if (idempotency !== undefined && known !== undefined && known.untilMs > w.broker.nowMs) {
    await putAgain(w, p, idempotency, known);
    return undefined;
  }
  const copies = p.drafts.map((draft) => copiesOf(w, p, draft));
  const messages = copies.map(({ input }) => input);
  const workplace = w.workplace(p.xid, by);
  const targets = new Map<Queue, Message[]>();
  for (const { queue, message } of copies.flatMap(({ places }) => places)) {
    targets.set(queue, [...(targets.get(queue) ?? []), message]);
  }
  const lost = copies.filter(({ places }) => places.length === 0).length;
  const refusal =
    w.broker.fence(by) ??
    p.missing ??
    (p.isMandatory && lost > 0 ? "no-route" : undefined) ??
    (p.xid !== undefined && workplace === undefined ? "illegal-state" : undefined);
  const became = refusal === undefined ? w.broker.enqueue(targets, workplace) : undefined;
  const headers = idempotency === undefined ? {} : { "idempotency-key": idempotency };
  const body = { messages, ...p.body };
  const answer = await w.client(p.at, by, p.xid).call<Enqueued>("POST", p.path, { body, headers });
  const said = `${p.word}${tellBy(by, p.xid)} ${messages.map(tellMessage).join(" ")}`;
  w.note(idempotency === undefined ? said : `${said} key ${idempotency}`, answer);
  if (w.isRefused(answer, refusal ?? (became === undefined ? "resource-limit-exceeded" : undefined))) return undefined;
  if (became === undefined) return undefined;
  checkPut(w, copies, became, answer, workplace);
  if (idempotency !== undefined) {
    const untilMs = w.broker.nowMs + 86_400_000;
    w.remembered.set(idempotency, { by: by?.name, xid: p.xid, path: p.path, body, answer: answer.body, untilMs });
  }
  return lost;
};

/** A key that is known: the same request is told the same again, whatever has happened since, another one is refused. */
const putAgain = async (w: World, p: Putting, idempotency: string, known: Remembered): Promise<void> => {
  const by = known.by === undefined ? undefined : w.ref({ session: w.sessions.indexOf(known.by), isOld: false });
  const body = p.isAgain ? known.body : { ...known.body, messages: [{ body: "another" }] };
  const headers = { "idempotency-key": idempotency };
  const answer = await w.client(p.at, by, known.xid).call<Enqueued>("POST", known.path, { body, headers });
  w.note(`${known.path} ${p.isAgain ? "again" : "with something else"} key ${idempotency}`, answer);
  if (!w.isRefused(answer, p.isAgain ? undefined : "idempotency-key-reused")) expect(answer.body).toEqual(known.answer);
};

/** A message as it is sent, and what it would be on each of its queues. */
interface Copies {
  readonly input: MessageInput;
  readonly places: readonly Placed[];
}

const copiesOf = (w: World, p: Putting, draft: Draft): Copies => {
  const by = w.ref(p.who, p.xid);
  const queues = p.routeOf(draft.headers);
  const { ttlSeconds, deduplication, headers, size } = draft;
  // With a retention or a ring it would be open which rule ends the message first.
  const hasTime =
    ttlSeconds > 0 &&
    queues.every(
      ({ name, settings }) =>
        settings.retentionSeconds === null && settings.overflow !== "ring" && !name.endsWith(".dead"),
    );
  const rest: Partial<Message> = {
    headers,
    ...(hasTime && { ttlMs: ttlSeconds * 1000 }),
    ...(deduplication > 0 && { deduplicationId: `d${deduplication}` }),
  };
  const { body } = w.message(by, undefined, { size });
  const input = {
    body,
    headers,
    ...(hasTime && { ttlSeconds }),
    ...(deduplication > 0 && { deduplicationId: `d${deduplication}` }),
  };
  return { input, places: queues.map((queue) => ({ queue, message: w.message(by, queue, { ...rest, body }) })) };
};

const tellMessage = ({ body, ttlSeconds, deduplicationId = "", headers = {} }: MessageInput): string =>
  [
    shortBody(body),
    ttlSeconds === undefined ? "" : `ttl=${ttlSeconds}`,
    deduplicationId,
    ...Object.entries(headers).map(([name, value]) => `${name}=${value}`),
  ]
    .filter(Boolean)
    .join("/");

const checkPut = (
  w: World,
  copies: readonly Copies[],
  became: ReadonlyMap<Message, Message>,
  answer: Answer<Enqueued>,
  workplace: Branch | undefined,
): void => {
  expect(answer.status).toBe(201);
  expect(answer.body.completed).toBe(workplace === undefined);
  expect(answer.body.messages.length).toBe(copies.length);
  for (const [i, told] of answer.body.messages.entries()) {
    const places = copies[i]?.places ?? [];
    expect(told.queues.map(({ queue }) => queue).toSorted()).toEqual(places.map(({ queue }) => queue.name).toSorted());
    expect(told.messageId).toEqual(expect.any(String));
    const isNew = ({ message }: Placed) => became.get(message) === message;
    expect(told.duplicate, copies[i]?.input.body).toBe(places.length > 0 && !places.some(isNew));
    for (const place of places) {
      const m = became.get(place.message) ?? place.message;
      const sequence = told.queues.find(({ queue }) => queue === place.queue.name)?.sequence;
      const waits = workplace?.adds.some(({ message }) => message === m) === true;
      expect(sequence === undefined, `${m.body} has no sequence yet`).toBe(waits);
      const messageId = isNew(place) ? told.messageId : (m.id ?? "");
      w.learn(m, { messageId, ...(sequence !== undefined && { sequence }) }, place.queue);
    }
    const ids = places.map(({ message }) => became.get(message)?.id);
    if (places.length > 0) expect(ids, "its id, or that of the first").toContain(told.messageId);
  }
};
