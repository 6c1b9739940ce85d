import type { Outcome, Request } from "../../domain/command.ts";
import type { EnqueueAnswer } from "../../domain/enqueued.ts";
import type { Message } from "../../domain/message.ts";
import { isRefusal, type Refusal } from "../../domain/refusal.ts";
import { parseXid } from "../../domain/xid.ts";
import { noteAnswer, readCommand, type StoredCommand } from "../../records/command.ts";
import { commandKey } from "../../records/keys.ts";
import { Unavailable } from "../../store/port.ts";
import type { Beside } from "../beside.ts";
import type { Context } from "../context.ts";
import { finishDecided } from "../dtx/complete.ts";
import { loadBranch } from "../dtx/load.ts";
import { enqueue } from "../enqueue.ts";
import { bind } from "../exchanges/bind.ts";
import { declareExchange } from "../exchanges/declare.ts";
import { deleteExchange } from "../exchanges/delete.ts";
import { publish } from "../exchanges/publish.ts";
import { unbind } from "../exchanges/unbind.ts";
import { type Deferred, isDeferred } from "../idempotency.ts";
import { packed, unpacked } from "../packed.ts";
import { deleteChunksOf } from "../payload.ts";
import type { Target } from "../put.ts";
import { declareQueue } from "../queues/declare.ts";
import { deleteQueue } from "../queues/delete.ts";
import { loadSession } from "../sessions/liveness.ts";
import { closingWrites } from "./close-command.ts";
import { countRefused } from "./count-dropped.ts";
import { GuardedStore, Superseded } from "./guarded-store.ts";
import { handOn } from "./hand-on.ts";
import { loadRequest, type Requested } from "./load-request.ts";
import { settleCommand } from "./settle-command.ts";

/** How often it begins anew because another worker was at it: each time that one has come further. */
const ROUNDS = 20;

/**
 * Runs a command to its end: its effect and what is told of it, once, however many workers are at it and wherever they
 * stop. `queue`: of a settle, only the deliveries of this queue; its last part closes it. Throws `Unavailable` when the
 * command is still open; what else it throws is a defect.
 */
export const performCommand = async (context: Context, first: StoredCommand, queue?: string): Promise<void> => {
  const key = commandKey(first.session, first.id);
  let command: StoredCommand | undefined = first;
  for (let round = 0; round < ROUNDS && command !== undefined; round++) {
    try {
      await performOnce(context, command, queue);
      return;
    } catch (error) {
      if (!(error instanceof Superseded)) throw error;
    }
    const item = await context.store.read(key);
    command = item && readCommand(item);
  }
  if (command !== undefined) throw new Unavailable(`command ${first.id} is at work elsewhere`);
};

const performOnce = async (context: Context, command: StoredCommand, queue: string | undefined): Promise<void> => {
  const [session, requested] = await Promise.all([
    loadSession(context, command.session),
    loadRequest(context, command),
  ]);
  if (requested === undefined) throw new Superseded("its payload went with it");
  const store = new GuardedStore(context.store, commandKey(command.session, command.id));
  // An attempt that finds its queue full may have met what another one has put there for the same command.
  const closing = (outcome: Outcome) =>
    closingWrites(context, command, session, outcome, command.progress.answer !== undefined || store.isNoted);
  const beside: Beside = (result, left) =>
    result.kind === "enqueued" && (left.branch !== undefined || left.isHandedOn === true)
      ? [noteAnswer(command, packed(result.answer), left.branch)]
      : closing(result);
  const { request } = requested;
  if (request.kind === "settle") {
    if (!(await settleCommand({ ...context, store }, command, request, queue, closing))) return;
  } else {
    const outcome = await outcomeOf({ ...context, store, beside }, command, requested);
    const isDropped = isRefusal(outcome) && outcome.refusal === "resource-limit-exceeded";
    if (isDropped && command.audience === "nobody" && (request.kind === "enqueue" || request.kind === "publish")) {
      const isOpen = (await context.store.read(commandKey(command.session, command.id))) !== undefined;
      if (isOpen) await countRefused(context, command.session, request, requested.messages);
    }
    if (!store.isClosed) await store.commit(closing(outcome));
  }
  await deleteChunksOf(context, [command.payload]);
};

const outcomeOf = async (
  context: Context,
  command: StoredCommand,
  { request, messages }: Requested,
): Promise<Outcome> => {
  switch (request.kind) {
    case "enqueue":
    case "publish":
      return putOutcome(context, command, request, messages);
    case "settle":
      throw new Error("a settle closes itself");
    case "declare-queue": {
      const declared = await declareQueue(context, request.queue, request.settings);
      if (isRefusal(declared)) return declared;
      return { kind: "queue-declared", queue: request.queue, settings: request.settings, isNew: declared.isNew };
    }
    case "delete-queue":
      return (await deleteQueue(context, request.queue, request)) ?? { kind: "deleted" };
    case "declare-exchange": {
      const declared = await declareExchange(context, request.exchange, request.settings);
      if (isRefusal(declared)) return declared;
      const { name, type, alternateExchange } = declared.exchange;
      return { kind: "exchange-declared", exchange: name, type, alternateExchange, isNew: declared.isNew };
    }
    case "delete-exchange":
      return (await deleteExchange(context, request.exchange)) ?? { kind: "deleted" };
    case "bind": {
      const bound = await bind(context, { ...request.binding, arguments: request.arguments });
      if (isRefusal(bound)) return bound;
      return { kind: "bound", binding: request.binding, arguments: request.arguments, isNew: bound.isNew };
    }
    case "unbind":
      return (await unbind(context, request.binding)) ?? { kind: "deleted" };
  }
};

const putOutcome = async (
  context: Context,
  command: StoredCommand,
  request: Extract<Request, { kind: "enqueue" | "publish" }>,
  messages: readonly Message[],
): Promise<Outcome> => {
  const { answer: decided } = command.progress;
  if (decided !== undefined) return goOn(context, command, unpacked(decided) as EnqueueAnswer, messages);
  const answer = await putFor(context, command, request, messages);
  if (isRefusal(answer)) return answer;
  if (isDeferred(answer)) throw new Error("a command goes behind no other");
  // It is decided, and was cut off before it stood on every queue.
  if (!answer.completed) throw new Unavailable(`command ${command.id} goes on`);
  return { kind: "enqueued", answer };
};

const putFor = (
  context: Context,
  { session: name, epoch, id }: StoredCommand,
  request: Extract<Request, { kind: "enqueue" | "publish" }>,
  messages: readonly Message[],
): Promise<EnqueueAnswer | Deferred | Refusal> => {
  const call = {
    messages,
    session: { name, epoch },
    xid: undefined,
    idempotency: undefined,
    asCommand: commandName(name, id),
  };
  return request.kind === "enqueue"
    ? enqueue(context, { ...call, queue: request.queue })
    : publish(context, { ...call, ...request });
};

/** What it hands on bears this, whichever worker does it. */
const commandName = (session: string, id: number): string => `${session}#${id}`;

/** An enqueue that is decided: its branch is brought to its end, and what need not be stored is handed on. */
const goOn = async (
  context: Context,
  { session, id, progress }: StoredCommand,
  answer: EnqueueAnswer,
  messages: readonly Message[],
): Promise<Outcome> => {
  if (progress.branch !== undefined) await finishBranch(context, progress.branch);
  const handedOn = new Map<string, Message[]>();
  for (const [i, { queues }] of answer.messages.entries()) {
    const message = messages[i];
    for (const { queue, sequence } of queues) {
      if (sequence !== undefined || message === undefined) continue;
      handedOn.set(queue, [...(handedOn.get(queue) ?? []), message]);
    }
  }
  const targets: Target[] = [];
  for (const [name, own] of handedOn) {
    const queue = await context.settings.find(context.store, name, context.now());
    if (queue !== undefined) targets.push({ queue, messages: own });
  }
  await handOn(context, commandName(session, id), session, targets);
  return { kind: "enqueued", answer };
};

const finishBranch = async (context: Context, name: string): Promise<void> => {
  const xid = parseXid(name);
  const branch = xid && (await loadBranch(context, xid));
  if (branch === undefined) return;
  if ((await finishDecided(context, branch)) !== "done") throw new Unavailable(`branch ${name} goes on`);
};
