/** What consumes the command queue, and what consumes the commands that failed too often. */
import type { Outcome } from "../../domain/command.ts";
import type { EnqueueAnswer } from "../../domain/enqueued.ts";
import { refuse } from "../../domain/refusal.ts";
import { closeCommand, readCommand, type StoredCommand } from "../../records/command.ts";
import { commandKey } from "../../records/keys.ts";
import type { Context } from "../context.ts";
import { unpacked } from "../packed.ts";
import { deleteChunksOf } from "../payload.ts";
import { readable } from "../recovery/readable.ts";
import { loadSession } from "../sessions/liveness.ts";
import { applyTransient } from "./apply-transient.ts";
import { closingWrites } from "./close-command.ts";
import type { Transient } from "./hand-on.ts";
import { loadRequest } from "./load-request.ts";
import { type Ran, runCommands } from "./run-commands.ts";
import { resultSoFar } from "./settle-command.ts";
import { type Wake, wakeSurely } from "./wake.ts";

/** A message of the command queue; its body is one of ours. */
export interface Received {
  readonly body: unknown;
  /** Deliveries so far, this one included. */
  readonly receiveCount: number;
}

/** Answers how many of the messages, which are of one group and in order, are done. */
export const consumeCommands = async (context: Context, messages: readonly Received[]): Promise<number> => {
  const runs = new Map<string, Ran>();
  for (const [done, { body }] of messages.entries()) {
    const message = body as Wake | Transient;
    if (message.kind === "transient") await applyTransient(context, message);
    else if (!(await isDone(context, message, runs))) return done;
  }
  return messages.length;
};

/** Runs the session's commands, once for all that the batch says of it. */
const isDone = async (context: Context, message: Wake, runs: Map<string, Ran>): Promise<boolean> => {
  const { session, command } = message;
  const known = runs.get(session);
  const ran = known ?? (await runCommands(context, session));
  runs.set(session, ran);
  // What this call's time did not suffice for goes on by a message of its own: those that wait behind this one may not.
  if (known === undefined && ran.isLeft) await wakeSurely(context, session, command);
  if (!ran.broken.has(command)) return true;
  if (message.isAlone === true) return false;
  // It is tried again where nothing else of the session waits behind it.
  await wakeSurely(context, session, command, true);
  return true;
};

/**
 * Deliveries after which it is not run once more before it is given up: what it does may be what stops the worker. The
 * count may go on from that of the first queue, which is 10.
 */
const LAST_RUNS = 13;

/**
 * As `consumeCommands`, of what was delivered too often: it is run once more, and closed with its failure when it still cannot
 * be; those behind it go on. Messages that needed not be stored are lost then.
 */
export const consumeFailed = async (context: Context, messages: readonly Received[]): Promise<number> => {
  for (const { body, receiveCount } of messages) {
    const message = body as Wake | Transient;
    if (message.kind === "transient") {
      console.error(`messages for queue ${message.queue.name} are lost`);
      continue;
    }
    const { session, command } = message;
    const ran = receiveCount <= LAST_RUNS ? await runCommands(context, session) : undefined;
    if (ran === undefined || ran.broken.has(command)) await fail(context, session, command);
    await wakeSurely(context, session, command);
  }
  return messages.length;
};

const fail = async (context: Context, name: string, id: number): Promise<void> => {
  const item = await context.store.read(commandKey(name, id));
  if (item === undefined) return;
  const command = readable(() => readCommand(item));
  if (command === undefined) {
    await context.store.commit([closeCommand({ session: name, id }, true)]);
    return;
  }
  const [session, outcome] = await Promise.all([loadSession(context, name), outcomeSoFar(context, command)]);
  const isDecided = command.progress.answer !== undefined;
  const commit = await context.store.commit(closingWrites(context, command, session, outcome, isDecided));
  if (commit.done) await deleteChunksOf(context, [command.payload]);
};

/** What it has come to already stands; else it failed. */
const outcomeSoFar = async (context: Context, command: StoredCommand): Promise<Outcome> => {
  const { answer, outcomes = {} } = command.progress;
  if (answer !== undefined) return { kind: "enqueued", answer: unpacked(answer) as EnqueueAnswer };
  const requested = Object.keys(outcomes).length > 0 ? await loadRequest(context, command) : undefined;
  return requested?.request.kind === "settle"
    ? resultSoFar(requested.request, outcomes)
    : refuse("internal-error", "the command failed at every attempt");
};
