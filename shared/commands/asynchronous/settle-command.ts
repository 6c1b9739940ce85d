import type { Outcome, Progress, Request, Result, SettleVerb } from "../../domain/command.ts";
import { type Delivery, parseDelivery } from "../../domain/delivery.ts";
import { isRefusal } from "../../domain/refusal.ts";
import type { RunKey, SettleOutcome } from "../../domain/run.ts";
import { noteOutcomes, readCommand, type StoredCommand } from "../../records/command.ts";
import { commandKey, partitionName } from "../../records/keys.ts";
import type { Write } from "../../records/write.ts";
import type { Context } from "../context.ts";
import { accept } from "../deliveries/accept.ts";
import { reject } from "../deliveries/reject.ts";
import { release } from "../deliveries/release.ts";
import type { SettleCall } from "../deliveries/settle.ts";
import { type GuardedStore, Superseded } from "./guarded-store.ts";

type Settle = Extract<Request, { kind: "settle" }>;

/** The deliveries of one run, as one command names them: what is decided and noted together. */
interface Part {
  readonly number: string;
  readonly run: RunKey;
  readonly deliveries: readonly Delivery[];
}

/**
 * Settles what a command names, run by run: the outcomes of each are noted with its change, so that no other attempt judges
 * anew what this one has settled. `queue`: only the runs of this queue. Answers whether the command is closed.
 */
export const settleCommand = async (
  context: Context & { readonly store: GuardedStore },
  command: StoredCommand,
  request: Settle,
  queue: string | undefined,
  closing: (outcome: Outcome) => readonly Write[],
): Promise<boolean> => {
  const parts = partsOf(request);
  const resultOf = (outcomes: Noted) => closing(result(request, parts, outcomes));
  const [only] = parts;
  const isOne = parts.length === 1;
  const noted = command.progress.outcomes ?? {};
  const wanted = parts.filter(({ number, run }) => noted[number] === undefined && (queue ?? run.name) === run.name);
  const notes = new Map<string, Write>();
  const beside = (run: RunKey, outcomes: readonly SettleOutcome[]): readonly Write[] => {
    const part = parts.find((one) => nameOf(one.run) === nameOf(run));
    if (part === undefined) throw new Error("a run is none of the command's");
    if (isOne) return resultOf({ [part.number]: outcomes });
    const note = noteOutcomes(command, part.number, outcomes);
    notes.set(part.number, note);
    return [note];
  };
  const decided = await settle(context, request.verb, {
    ...request,
    deliveries: wanted.flatMap(({ deliveries }) => deliveries),
    session: undefined,
    xid: undefined,
    beside,
  });
  if (context.store.isClosed) return true;
  let at = 0;
  for (const { number, deliveries } of wanted) {
    const outcomes = decided.slice(at, at + deliveries.length);
    at += deliveries.length;
    const note = notes.get(number);
    if (isOne && only !== undefined) {
      await context.store.commit(resultOf({ [only.number]: outcomes }));
      return true;
    }
    // Where nothing was to be changed nothing has been noted yet.
    if (note === undefined || !context.store.has(note)) {
      await context.store.commit([noteOutcomes(command, number, outcomes)]);
    }
  }
  return closeIfWhole(context, command, parts.length, resultOf);
};

type Noted = NonNullable<Progress["outcomes"]>;

/** The last part closes the command; who comes later finds it closed. */
const closeIfWhole = async (
  context: Context,
  { session, id }: StoredCommand,
  parts: number,
  resultOf: (outcomes: Noted) => readonly Write[],
): Promise<boolean> => {
  const item = await context.store.read(commandKey(session, id));
  if (item === undefined) throw new Superseded("another part closed it");
  const { outcomes = {} } = readCommand(item).progress;
  if (Object.keys(outcomes).length < parts) return false;
  await context.store.commit(resultOf(outcomes));
  return true;
};

const settle = async (
  context: Context,
  verb: SettleVerb,
  call: SettleCall & Pick<Settle, "delaySeconds" | "reason">,
): Promise<readonly SettleOutcome[]> => {
  if (call.deliveries.length === 0) return [];
  const outcomes = await settlers[verb](context, call);
  if (isRefusal(outcomes)) throw new Error(`outside a session and a branch nothing refuses: ${outcomes.detail}`);
  return outcomes;
};

const settlers = {
  accept: (context: Context, call: SettleCall) => accept(context, call),
  release: (context: Context, call: SettleCall & Pick<Settle, "delaySeconds" | "reason">) =>
    release(context, call, call.delaySeconds, call.reason),
  reject: (context: Context, call: SettleCall & Pick<Settle, "reason">) => reject(context, call, call.reason),
} satisfies Readonly<Record<SettleVerb, unknown>>;

const nameOf = (run: RunKey): string => `${partitionName(run)}#${run.position}`;

const partsOf = ({ deliveryIds }: Settle): readonly Part[] => {
  const deliveries = [...new Set(deliveryIds)].flatMap((id) => parseDelivery(id) ?? []);
  return [...Map.groupBy(deliveries, ({ run }) => nameOf(run)).values()].flatMap((own, i): readonly Part[] =>
    own[0] === undefined ? [] : [{ number: String(i), run: own[0].run, deliveries: own }],
  );
};

/** What is noted of it; the rest has not been reached. */
export const resultSoFar = (request: Settle, noted: Noted): Result => result(request, partsOf(request), noted);

/** Each outcome in the place where its delivery was named. */
const result = ({ verb, deliveryIds }: Settle, parts: readonly Part[], noted: Noted): Result => {
  const outcomes = new Map(
    parts.flatMap(({ number, deliveries }) =>
      deliveries.map((delivery, i) => [keyOf(delivery), noted[number]?.[i] ?? "not-found"] as const),
    ),
  );
  return {
    kind: "settled",
    verb,
    deliveryIds,
    outcomes: deliveryIds.map((id) => {
      const delivery = parseDelivery(id);
      return (delivery && outcomes.get(keyOf(delivery))) ?? "not-found";
    }),
  };
};

const keyOf = ({ run, index, token }: Delivery): string => `${nameOf(run)}#${index}#${token}`;
