/**
 * Commands that are open, and what became of those that are not. A command: `ep` epoch, `au` audience, `k` kind of the
 * request, `l` lanes (JSON: queues, names, routes, changes), `b` payload inline or `p` its owner and `f` the firsts of its chunks (the request
 * as JSON is its first message, the messages follow), and what is over of it already: `a` answer, `x` branch, `o` outcomes.
 */
import type { Audience, Lanes, Progress, Request } from "../domain/command.ts";
import { REMEMBERED_SECONDS, SESSION_REMEMBERED_SECONDS } from "../domain/limits.ts";
import type { Payload, SettleOutcome } from "../domain/run.ts";
import { appliedKey, commandKey, commandListKey, commandPrefix, completionKey, completionPrefix } from "./keys.ts";
import { bytes, isMap, json, map, text, Unreadable, whole } from "./reading.ts";
import { pack, unpackAny } from "./repeats.ts";
import { absent, type Item, present, type Write } from "./write.ts";

/** A command as its record names it; its request and its messages are its payload. */
export interface StoredCommand {
  readonly session: string;
  /** The epoch that sent it; it runs even if that has moved on. */
  readonly epoch: number;
  readonly id: number;
  readonly audience: Audience;
  readonly kind: Request["kind"];
  /** As far as the request names them. */
  readonly lanes: Lanes;
  readonly payload: Payload;
  /** `answer` as the command packed it. */
  readonly progress: Omit<Progress, "answer"> & { readonly answer?: Uint8Array };
}

export const putCommand = ({ lanes, ...command }: Omit<StoredCommand, "progress">): Write => ({
  kind: "put",
  key: commandKey(command.session, command.id),
  item: {
    ep: command.epoch,
    au: command.audience,
    k: command.kind,
    l: JSON.stringify([lanes.queues, lanes.names, lanes.routes, lanes.changes]),
    ...payloadAttributes(command.payload),
    ...(command.kind === "settle" && { o: {} }),
  },
  require: [absent],
  otherwise: "reload",
});

/** The session stands on the list of those with commands, for the schedule. */
export const listSession = (session: string): Write => ({
  kind: "put",
  key: commandListKey(session),
  item: {},
  require: [],
  otherwise: "reload",
});

export const unlistSession = (session: string): Write => ({
  kind: "delete",
  key: commandListKey(session),
  require: [],
  otherwise: "reload",
});

/**
 * Its effect is done for good, in this commit or before; no other attempt can do it again. Not `isDecided`: nor has another
 * one noted its answer, which this one would have to give.
 */
export const closeCommand = (command: Pick<StoredCommand, "session" | "id">, isDecided: boolean): Write => ({
  kind: "delete",
  key: commandKey(command.session, command.id),
  require: isDecided ? [present] : [present, { is: "lacks", path: ["a"] }],
  otherwise: "reload",
});

/** Gives a command up that nothing has come of: it has neither an effect nor part of one. */
export const withdrawCommand = (command: Pick<StoredCommand, "session" | "id">): Write => ({
  kind: "delete",
  key: commandKey(command.session, command.id),
  require: [present, { is: "lacks", path: ["a"] }],
  otherwise: "reload",
});

/** An enqueue's answer is decided, and something is left to do: `branch` is applied, or messages are handed on. */
export const noteAnswer = (
  command: Pick<StoredCommand, "session" | "id">,
  answer: Uint8Array,
  branch: string | undefined,
): Write => ({
  kind: "update",
  key: commandKey(command.session, command.id),
  change: {
    set: [[["a"], answer], ...(branch === undefined ? [] : [[["x"], branch] as const])],
  },
  require: [present, { is: "lacks", path: ["a"] }],
  otherwise: "reload",
});

/** The deliveries of one run are decided. */
export const noteOutcomes = (
  command: Pick<StoredCommand, "session" | "id">,
  run: string,
  outcomes: readonly SettleOutcome[],
): Write => ({
  kind: "update",
  key: commandKey(command.session, command.id),
  change: { set: [[["o", run], outcomes.join(",")]] },
  require: [present, { is: "lacks", path: ["o", run] }],
  otherwise: "reload",
});

/** What the key says, also where the record cannot be read. */
export const commandIdOf = (item: Item): number => Number(text(item, "sk").slice(commandPrefix.length));

export const readCommand = (item: Item): StoredCommand => {
  const [queues = [], names = [], routes = [], changes = []] = json(item, "l") as string[][];
  return {
    session: text(item, "pk").slice("SESSION#".length),
    id: commandIdOf(item),
    epoch: whole(item, "ep"),
    audience: audienceOf(item),
    kind: text(item, "k") as Request["kind"],
    lanes: { queues, names, routes, changes },
    payload: payloadOf(item),
    progress: {
      ...("a" in item && { answer: bytes(item, "a") }),
      ...("x" in item && { branch: text(item, "x") }),
      ...(isMap(item.o) && { outcomes: outcomesOf(item) }),
    },
  };
};

const audienceOf = (item: Item): Audience => {
  const audience = text(item, "au");
  if (audience === "session" || audience === "call" || audience === "nobody") return audience;
  throw new Unreadable(item, `au is ${audience}`);
};

const outcomesOf = (item: Item): Readonly<Record<string, readonly SettleOutcome[]>> =>
  Object.fromEntries(
    Object.entries(map(item, "o")).map(([run, outcomes]) => [run, String(outcomes).split(",") as SettleOutcome[]]),
  );

const payloadAttributes = (payload: Payload): Item =>
  payload.kind === "inline" ? { b: payload.bytes } : { p: payload.owner, f: pack(payload.firsts) };

const payloadOf = (item: Item): Payload =>
  "b" in item
    ? { kind: "inline", bytes: bytes(item, "b") }
    : { kind: "chunks", owner: text(item, "p"), firsts: unpackAny(text(item, "f")) };

/** What a command came to, packed; `c` when one call alone waits for it. */
export const putCompletion = (
  { session, id, audience }: Pick<StoredCommand, "session" | "id" | "audience">,
  outcome: Uint8Array,
  nowMs: number,
): Write => {
  // A call that repeats its request may ask for a day, whoever resumes the session as long as that is remembered.
  const seconds = audience === "call" ? REMEMBERED_SECONDS : SESSION_REMEMBERED_SECONDS;
  return {
    kind: "put",
    key: completionKey(session, id),
    item: {
      r: outcome,
      ...(audience === "call" && { c: true }),
      until: nowMs + seconds * 1000,
      ttl: Math.floor(nowMs / 1000) + seconds,
    },
    require: [],
    otherwise: "reload",
  };
};

export interface StoredCompletion {
  readonly id: number;
  /** As the command packed it. */
  readonly outcome: Uint8Array;
  readonly isForOneCall: boolean;
}

export const readCompletion = (item: Item): StoredCompletion => ({
  id: Number(text(item, "sk").slice(completionPrefix.length)),
  outcome: bytes(item, "r"),
  isForOneCall: item.c === true,
});

/** These messages of the command queue have been applied, whatever became of them. */
export const putApplied = (id: string, nowMs: number): Write => ({
  kind: "put",
  key: appliedKey(id),
  item: { until: nowMs + REMEMBERED_SECONDS * 1000, ttl: Math.floor(nowMs / 1000) + REMEMBERED_SECONDS },
  require: [{ is: "absent-or-over", nowMs }],
  otherwise: "reload",
});
