import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Audience, lanesOf, type Request } from "../../domain/command.ts";
import { INLINE_RECORD_BYTES } from "../../domain/limits.ts";
import type { Message } from "../../domain/message.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { fence, type Session, type SessionRef } from "../../domain/session.ts";
import { listSession, putCommand, type StoredCommand } from "../../records/command.ts";
import { commandOwner, idempotencyKey, sessionKey } from "../../records/keys.ts";
import { encodeMessage } from "../../records/payload.ts";
import { countCommand, readSession } from "../../records/session.ts";
import { itemBytes } from "../../records/size.ts";
import type { Write } from "../../records/write.ts";
import { Unavailable } from "../../store/port.ts";
import type { Context } from "../context.ts";
import { deleteChunksOf, storeChunks } from "../payload.ts";
import { loadSession } from "../sessions/liveness.ts";
import { wake } from "./wake.ts";

/** Commands that one session sends at the same time: each that loses the race for the next id tries again. */
const ROUNDS = 200;
const PATIENT_ROUNDS = 5;
const PAUSE_MS = 20;

export interface Storing {
  readonly session: SessionRef;
  readonly audience: Audience;
  readonly request: Request;
  /** Each bears its id. */
  readonly messages: readonly Message[];
  /** What remembers the command for whoever repeats the request, in the commit that stores it. */
  readonly remember?: (command: number) => Write;
}

/**
 * Stores a command behind all that the session has sent, in one commit with its id and the fence, and wakes the worker.
 * `known`: a repeated request, which its `remember` has met.
 */
export const storeCommand = async (
  context: Context,
  storing: Storing,
): Promise<{ readonly id: number } | "known" | Refusal> => {
  const { session: ref, request, messages } = storing;
  let session = await loadSession(context, ref.name);
  const early = fence(session, ref, context.now());
  if (early !== undefined) return early;
  const command = await payloadOf(context, storing, [requestMessage(request), ...messages]);
  for (let round = 0; round < ROUNDS; round++) {
    const nowMs = context.now();
    const fenced = fence(session, ref, nowMs);
    if (fenced !== undefined || session === undefined) return giveUp(context, command, fenced);
    const id = session.commands + 1;
    const commit = await context.store.commit(writesOf(session, { ...command, id }, storing, nowMs));
    if (commit.done) {
      await wake(context, ref.name, id);
      return { id };
    }
    const { pk, sk } = sessionKey(ref.name);
    const moved = commit.failures.find(({ write }) => write.key.pk === pk && write.key.sk === sk);
    if (moved === undefined && commit.failures.some(({ write }) => write.key.sk === idempotencyKey("", "").sk)) {
      await deleteChunksOf(context, [command.payload]);
      return "known";
    }
    if (round >= PATIENT_ROUNDS) await sleep(Math.random() * PAUSE_MS);
    session = moved?.found === undefined ? await loadSession(context, ref.name) : readSession(ref.name, moved.found);
  }
  await deleteChunksOf(context, [command.payload]);
  throw new Unavailable(`session ${ref.name} sends too many commands at the same time`);
};

type Unnumbered = Omit<StoredCommand, "id" | "progress">;

const writesOf = (
  session: Session,
  command: Omit<StoredCommand, "progress">,
  { remember }: Storing,
  nowMs: number,
): readonly Write[] => [
  countCommand(session, nowMs),
  putCommand(command),
  ...(session.isListed ? [] : [listSession(session.name)]),
  ...(remember === undefined ? [] : [remember(command.id)]),
];

const giveUp = async (context: Context, { payload }: Unnumbered, refusal: Refusal | undefined): Promise<Refusal> => {
  await deleteChunksOf(context, [payload]);
  if (refusal === undefined) throw new Error("the fence lets no unknown session through");
  return refusal;
};

/** The request travels as the first message of the command's payload. */
const requestMessage = (request: Request): Message => ({
  body: Buffer.from(JSON.stringify(request)),
  properties: { bodyEncoding: "utf8", deliveryMode: "persistent" },
});

const payloadOf = async (
  context: Context,
  { session, audience, request }: Storing,
  messages: readonly Message[],
): Promise<Unnumbered> => {
  const encoded = messages.map(encodeMessage);
  const about = {
    session: session.name,
    epoch: session.epoch,
    audience,
    kind: request.kind,
    lanes: lanesOf(request),
  };
  const inline: Unnumbered = { ...about, payload: { kind: "inline", bytes: Buffer.concat(encoded) } };
  const { key, ...write } = putCommand({ ...inline, id: 1 });
  if (write.kind === "put" && itemBytes({ ...write.item, ...key }) <= INLINE_RECORD_BYTES) return inline;
  const owner = commandOwner(session.name, randomBytes(9).toString("base64url"));
  return { ...about, payload: await storeChunks(context, owner, encoded, undefined) };
};
