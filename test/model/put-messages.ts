/**
 * What every step does that puts messages: on one queue, or on those that an exchange names; at once, in a branch, or as a
 * command of a session. What need not be persisted is handed on, and comes when the worker works.
 */
import fc from "fast-check";
import { expect } from "vitest";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import type { Enqueued, MessageInput } from "../support/shapes.ts";
import { isLater, process } from "./command.ts";
import type { Touch } from "./line.ts";
import { drop, sendLater, untilOpen, work } from "./send.ts";
import type { Branch, Headers, Message, Placed, Queue, Ref, Refused } from "./values.ts";
import { type Remembered, shortBody, tellBy, type Who, type World } from "./world.ts";

/** Of one message that is put. */
interface Draft {
  readonly size: number;
  readonly ttlSeconds: number;
  /** 0: none. */
  readonly deduplication: number;
  readonly headers: Headers;
  readonly isTransient: boolean;
}

const drafts: fc.Arbitrary<readonly Draft[]> = fc.array(
  fc.record({
    size: fc.constantFrom(0, 0, 0, 0, 6, 1500),
    ttlSeconds: fc.constantFrom(0, 0, 0, 0, 5),
    deduplication: fc.constantFrom(0, 0, 0, 1, 2),
    headers: fc.constantFrom<Headers>({}, { k: "v" }, { k: "w" }, { k: "v", n: 1 }, { n: 1 }),
    isTransient: fc.nat(3).map((n) => n === 3),
  }),
  { minLength: 1, maxLength: 4 },
);

export const putting = { at: process, drafts, key: fc.constantFrom(0, 0, 0, 0, 1, 2), isAgain: fc.boolean(), isLater };

export interface Putting {
  readonly at: number;
  readonly who: Who;
  readonly xid: string | undefined;
  readonly drafts: readonly Draft[];
  /** Number of its idempotency key, 0: none. */
  readonly key: number;
  /** With a key that is known: the same request. */
  readonly isAgain: boolean;
  /** Of a session, and in no branch: as a command. */
  readonly isLater: boolean;
  /** For the history. */
  readonly word: string;
  readonly path: string;
  /** Beside the messages. */
  readonly body: object;
  readonly isMandatory: boolean;
  readonly touch: Touch;
  /** As things are when it is asked: a command is routed when it runs. */
  readonly missing: () => Refused;
  readonly routeOf: (headers: Headers) => readonly Queue[];
  /** So many messages reached no queue. */
  readonly whenLost: (count: number) => void;
}

/** Puts them, and holds the answer against the reference. */
export const putMessages = async (w: World, p: Putting): Promise<void> => {
  const by = w.ref(p.who, p.xid);
  const idempotency = p.key === 0 ? undefined : `${w.prefix}k${p.key}`;
  const known = idempotency === undefined ? undefined : w.remembered.get(idempotency);
  if (idempotency !== undefined && known !== undefined && known.untilMs > w.broker.nowMs) {
    await putAgain(w, p, idempotency, known);
    return;
  }
  const isCommand = p.isLater && by !== undefined && p.xid === undefined;
  const isBehind = p.xid === undefined && by !== undefined && w.broker.fence(by) === undefined;
  const messages = p.drafts.map((draft) => inputOf(w, p, draft, isCommand));
  const body = { messages, ...p.body };
  const headers = idempotency === undefined ? {} : { "idempotency-key": idempotency };
  const call = (c: Client) => c.call<Enqueued>("POST", p.path, { body, headers });
  const said = `${p.word} ${messages.map(tellMessage).join(" ")}${idempotency === undefined ? "" : ` key ${idempotency}`}`;
  const put: Put = { p, by, messages };
  const remember = (answer: Answer<unknown>) => {
    if (idempotency === undefined) return;
    const untilMs = w.broker.nowMs + 86_400_000;
    const told = answer.problem?.code ?? answer.body;
    w.remembered.set(idempotency, { by: by?.name, xid: p.xid, path: p.path, body, answer: told, untilMs });
  };
  if (isCommand) {
    const at = { at: p.at, by, said, touch: p.touch };
    const stored = await sendLater(w, at, call, (answer) => become(w, put, answer, p.missing()));
    if (stored !== undefined) remember(stored);
    return;
  }
  const goesBehind = () => isBehind && (w.line.owner === by.name || isForLine(w, put));
  if (goesBehind() && by !== undefined && !w.line.hasPlaceFor(by.name, p.touch)) await work(w);
  if (goesBehind() && by !== undefined) {
    await putBehind(w, put, by, said, call(w.client(p.at, by)), remember);
    return;
  }
  await makeWay(w, put);
  const answer = await call(w.client(p.at, by, p.xid));
  w.note(`${said}${tellBy(by, p.xid)}`, answer);
  const isOut = p.xid !== undefined && w.workplace(p.xid, by) === undefined;
  const refusal = w.broker.fence(by) ?? refusalFor(put) ?? (isOut ? "illegal-state" : undefined);
  if (become(w, { ...put, isKeyed: p.key > 0 }, answer, refusal)) remember(answer);
};

/** A call whose session has open commands goes behind them: it waits for what it comes to if that must be persisted. */
const putBehind = async (
  w: World,
  put: Put,
  by: Ref,
  said: string,
  answered: Promise<Answer<Enqueued>>,
  remember: (answer: Answer<unknown>) => void,
): Promise<void> => {
  const { stored, handedOn, isPersisted } = byDurability(copiesOf(w, put), by);
  if (refusalFor(put) !== undefined || isPersisted || stored.size + handedOn.size === 0) {
    w.line.add(by, put.p.touch, answered, (answer) => become(w, put, answer, refusalFor(put)));
    await untilOpen(w, by.name, w.line.open.length);
    w.note(`behind: ${said}${tellBy(by, undefined)}`);
    await work(w);
    remember(await answered);
    return;
  }
  const answer = await answered;
  w.note(`behind, with nobody waiting: ${said}${tellBy(by, undefined)}`, answer);
  expect(answer.status).toBe(202);
  const ids = new Map(
    answer.body.messages.flatMap(({ messageId, duplicate }, i) =>
      duplicate ? [] : [[put.messages[i]?.body, messageId] as const],
    ),
  );
  w.line.add(by, put.p.touch, "nobody", () => become(w, put, undefined, refusalFor(put), ids));
  remember(answer);
};

/** Nobody waits for it, but where order is strict it stands in line with what is persisted. */
const isForLine = (w: World, put: Put): boolean => {
  const { stored, isPersisted } = byDurability(copiesOf(w, put), put.by);
  return refusalFor(put) === undefined && stored.size > 0 && !isPersisted;
};

/** What is handed on, or meets what is: whatever came before by another way is done first. */
const makeWay = async (w: World, put: Put): Promise<void> => {
  const { handedOn } = byDurability(copiesOf(w, put), put.by);
  const isMet = w.line.onTheWay.some(({ group, queue }) => handedOn.has(queue) && group !== groupOf(put, queue));
  if (put.p.xid === undefined && (isMet || (handedOn.size > 0 && w.line.open.length > 0))) await work(w);
};

/** Without a session each call comes by a way of its own. */
const groupOf = ({ by, messages }: Put, queue: Queue): string => by?.name ?? `${messages[0]?.body} on ${queue.name}`;

/** A key that is known: the same request is told the same again, whatever has happened since, another one is refused. */
const putAgain = async (w: World, p: Putting, idempotency: string, known: Remembered): Promise<void> => {
  const by = known.by === undefined ? undefined : w.ref({ session: w.sessions.indexOf(known.by), isOld: false });
  const body = p.isAgain ? known.body : { ...known.body, messages: [{ body: "another" }] };
  const headers = { "idempotency-key": idempotency };
  const c = w.client(p.at, by, known.xid);
  const answer = await (p.isLater ? c.later : c).call<Enqueued>("POST", known.path, { body, headers });
  w.note(`${known.path} ${p.isAgain ? "again" : "with something else"} key ${idempotency}`, answer);
  const told = typeof known.answer === "string" ? (known.answer as Refused) : undefined;
  if (!w.isRefused(answer, p.isAgain ? told : "idempotency-key-reused")) expect(answer.body).toEqual(known.answer);
};

/** A call that puts messages, and who sends it. */
interface Put {
  readonly p: Putting;
  readonly by: Ref | undefined;
  readonly messages: readonly MessageInput[];
  /** With a key, what a call hands on is the same each time: the worker is given what is known already, and drops it. */
  readonly isKeyed?: boolean;
}

/** What a message would be on each of its queues. */
interface Copies {
  readonly input: MessageInput;
  readonly places: readonly Placed[];
}

const inputOf = (w: World, p: Putting, draft: Draft, isCommand: boolean): MessageInput => {
  const { ttlSeconds, deduplication, headers, size, isTransient } = draft;
  // With a retention or a ring it would be open which rule ends the message first; a command's queues may be others then.
  const hasTime =
    ttlSeconds > 0 &&
    !isCommand &&
    p
      .routeOf(headers)
      .every(
        ({ name, settings }) =>
          settings.retentionSeconds === null && settings.overflow !== "ring" && !name.endsWith(".dead"),
      );
  return {
    body: w.message(undefined, undefined, { size }).body,
    headers,
    ...(isTransient && { deliveryMode: "transient" }),
    ...(hasTime && { ttlSeconds }),
    ...(deduplication > 0 && { deduplicationId: `d${deduplication}` }),
  };
};

const copiesOf = (w: World, { p, by, messages }: Put): readonly Copies[] =>
  messages.map((input) => {
    const { body, headers = {}, ttlSeconds = Number.POSITIVE_INFINITY, deduplicationId } = input;
    const isTransient = input.deliveryMode === "transient";
    const about = { body, headers: headers as Headers, ttlMs: ttlSeconds * 1000, deduplicationId, isTransient };
    const queues = p.routeOf(about.headers);
    return { input, places: queues.map((queue) => ({ queue, message: w.message(by, queue, about) })) };
  });

const lostOf = ({ p, messages }: Put): number =>
  messages.filter(({ headers = {} }) => p.routeOf(headers as Headers).length === 0).length;

const refusalFor = (put: Put): Refused =>
  put.p.missing() ?? (put.p.isMandatory && lostOf(put) > 0 ? "no-route" : undefined);

const mustPersist = ({ messageDurability }: Queue["settings"], { isTransient }: Message): boolean =>
  messageDurability === "always" || (messageDurability === "default" && isTransient !== true);

type Targets = Map<Queue, readonly Message[]>;

/** What is put at once and what is handed on, queue by queue: where order is strict a session hands on nothing. */
const byDurability = (copies: readonly Copies[], by: Ref | undefined) => {
  const [stored, handedOn]: [Targets, Targets] = [new Map(), new Map()];
  let isPersisted = false;
  for (const { queue, message } of copies.flatMap(({ places }) => places)) {
    const { settings } = queue;
    if (mustPersist(settings, message)) isPersisted = true;
    const isStored = mustPersist(settings, message) || (settings.strictOrder && by !== undefined);
    const targets = isStored ? stored : handedOn;
    targets.set(queue, [...(targets.get(queue) ?? []), message]);
  }
  return { stored, handedOn, isPersisted };
};

/** Does in the reference what the call does, and holds its answer against that; whether it was done. */
const become = (
  w: World,
  put: Put,
  answer: Answer<Enqueued> | undefined,
  refusal: Refused,
  ids?: ReadonlyMap<string | undefined, string>,
): boolean => {
  const { p, by } = put;
  const workplace = w.workplace(p.xid, by);
  const copies = copiesOf(w, put);
  const all = byDurability(copies, by);
  const isKeyed = put.isKeyed === true && all.stored.size === 0;
  const everything = new Map([...all.stored, ...all.handedOn].map(([queue]) => [queue, ofQueue(copies, queue)]));
  const [stored, handedOn] = workplace === undefined ? [all.stored, all.handedOn] : [everything, new Map() as Targets];
  const expected = refusal ?? refusalFor(put);
  const became = expected === undefined ? w.broker.enqueue(stored, workplace) : undefined;
  const met = new Map(became);
  if (w.isRefused(answer, expected ?? (became === undefined ? "resource-limit-exceeded" : undefined))) {
    // Nobody waits for it: it is dropped where it would have gone to, and counted there.
    if (ids !== undefined && expected === undefined) for (const [queue, messages] of everything) drop(queue, messages);
    return false;
  }
  if (became === undefined) return false;
  for (const [queue, messages] of handedOn) {
    for (const m of messages) met.set(m, w.broker.firstOf(queue, m, messages) ?? m);
    const left = messages.filter((m) => w.broker.firstOf(queue, m) === undefined);
    if (left.length === 0) continue;
    for (const m of left) {
      const id = ids?.get(m.body);
      if (id !== undefined) m.id = id;
    }
    w.line.onTheWay.push({ group: groupOf(put, queue), queue, messages: isKeyed ? messages : left });
  }
  if (answer !== undefined) checkPut(w, copies, { became: met, stored, handedOn }, answer, workplace);
  p.whenLost(copies.filter(({ places }) => places.length === 0).length);
  return true;
};

const ofQueue = (copies: readonly Copies[], queue: Queue): readonly Message[] =>
  copies.flatMap(({ places }) => places.flatMap((place) => (place.queue === queue ? [place.message] : [])));

const tellMessage = ({ body, ttlSeconds, deduplicationId = "", headers = {}, deliveryMode }: MessageInput): string =>
  [
    shortBody(body),
    deliveryMode ?? "",
    ttlSeconds === undefined ? "" : `ttl=${ttlSeconds}`,
    deduplicationId,
    ...Object.entries(headers).map(([name, value]) => `${name}=${value}`),
  ]
    .filter(Boolean)
    .join("/");

const checkPut = (
  w: World,
  copies: readonly Copies[],
  { became, stored, handedOn }: { became: ReadonlyMap<Message, Message>; stored: Targets; handedOn: Targets },
  answer: Answer<Enqueued>,
  workplace: Branch | undefined,
): void => {
  expect(answer.status).toBe(stored.size === 0 && handedOn.size > 0 ? 202 : 201);
  expect(answer.body.completed).toBe(workplace === undefined);
  expect(answer.body.messages.length).toBe(copies.length);
  const isNew = (place: Placed) => became.get(place.message) === place.message;
  // The first of an id may stand behind its duplicate in a call: what is stored comes before what is handed on.
  for (const [i, { messageId }] of answer.body.messages.entries()) {
    for (const place of copies[i]?.places.filter(isNew) ?? []) w.learn(place.message, { messageId }, place.queue);
  }
  for (const [i, told] of answer.body.messages.entries()) {
    const places = copies[i]?.places ?? [];
    expect(told.queues.map(({ queue }) => queue).toSorted()).toEqual(places.map(({ queue }) => queue.name).toSorted());
    expect(told.messageId).toEqual(expect.any(String));
    expect(told.duplicate, copies[i]?.input.body).toBe(places.length > 0 && !places.some(isNew));
    for (const place of places) {
      const m = became.get(place.message) ?? place.message;
      const sequence = told.queues.find(({ queue }) => queue === place.queue.name)?.sequence;
      const waits =
        workplace?.adds.some(({ message }) => message === m) === true ||
        handedOn.get(place.queue)?.includes(m) === true;
      expect(sequence === undefined, `${m.body} has no sequence yet`).toBe(waits);
      const messageId = isNew(place) ? told.messageId : (m.id ?? "");
      w.learn(m, { messageId, ...(sequence !== undefined && { sequence }) }, place.queue);
    }
    const ids = places.map((place) => (became.get(place.message) ?? place.message).id);
    if (places.length > 0) expect(ids, "its id, or that of the first").toContain(told.messageId);
  }
};
