/** The port's SQS form: batches that keep the order of each group, and retries of what a batch leaves behind. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type BatchResultErrorEntry,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { BATCHED_BYTES } from "../domain/limits.ts";
import { Unavailable } from "../domain/unavailable.ts";
import type { CommandQueue, QueuedMessage } from "./port.ts";

/** AWS's own bound for one SendMessageBatch. */
const ENTRIES_PER_BATCH = 10;

/** Batches in a row of which some entry failed: about 3 s of waiting in all, beside the SDK's own repeating. */
const ROUNDS = 10;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 600;

/** A view of the queue for the length of one call. */
export class SqsCommandQueue implements CommandQueue {
  readonly #client: SQSClient;
  readonly #queueUrl: string;
  readonly #open = new Set<Promise<unknown>>();

  constructor(client: SQSClient, queueUrl: string) {
    this.#client = client;
    this.#queueUrl = queueUrl;
  }

  /** Resolves when no send that was begun here is open: a process frozen after its answer would go on with it later. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  send(messages: readonly QueuedMessage[]): Promise<void> {
    const work = this.#sendAll(messages);
    this.#open.add(work);
    const done = () => this.#open.delete(work);
    work.then(done, done);
    return work;
  }

  async #sendAll(messages: readonly QueuedMessage[]): Promise<void> {
    let waiting = messages.map(entryOf);
    for (let failedRounds = 0; waiting.length > 0; ) {
      const batch = nextBatch(waiting);
      const failed = new Set((await this.#sendBatch(batch)).map(({ Id }) => Number(Id)));
      const sent = new Set(batch.filter((_, at) => !failed.has(at)));
      waiting = waiting.filter((entry) => !sent.has(entry));
      if (failed.size > 0) await patient(failedRounds++);
      else failedRounds = 0;
    }
  }

  /** The entries that are not in the queue. */
  async #sendBatch(batch: readonly Entry[]): Promise<readonly BatchResultErrorEntry[]> {
    const Entries = batch.map((entry, at) => ({ ...entry, Id: String(at) }));
    const answer = await lostContact(() =>
      this.#client.send(new SendMessageBatchCommand({ QueueUrl: this.#queueUrl, Entries })),
    );
    const failed = answer.Failed ?? [];
    const refused = failed.find((entry) => entry.SenderFault === true && !isThrottle(entry.Code ?? ""));
    if (refused !== undefined) throw new Error(`the command queue refused a message: ${refused.Code}`);
    return failed;
  }
}

type Entry = Omit<SendMessageBatchRequestEntry, "Id"> & {
  readonly MessageGroupId: string;
  readonly MessageBody: string;
};

/**
 * SQS allows 128 characters of some alphabets in its ids, and in a body no U+FFFE and U+FFFF; other engines no character
 * beyond U+FFFF either. In JSON such characters stand in strings only, where they may as well be escaped.
 */
const entryOf = ({ group, id, body }: QueuedMessage): Entry => ({
  MessageGroupId: hashOf(group),
  MessageDeduplicationId: hashOf(id),
  MessageBody: body.replace(
    /[\ud800-\udfff\ufffe\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  ),
});

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

/**
 * The first waiting messages that fit, one of each group at most: an entry may fail beside others that do not, and what
 * followed it in its group could not be put behind it again, since the queue drops what it has under the same id.
 */
const nextBatch = (waiting: readonly Entry[]): readonly Entry[] => {
  const batch: Entry[] = [];
  const groups = new Set<string>();
  let bytes = 0;
  for (const entry of waiting) {
    if (groups.has(entry.MessageGroupId)) continue;
    groups.add(entry.MessageGroupId);
    bytes += Buffer.byteLength(entry.MessageBody);
    // A message that is too large by itself is the queue's to refuse.
    if (batch.length === ENTRIES_PER_BATCH || (batch.length > 0 && bytes > BATCHED_BYTES)) break;
    batch.push(entry);
  }
  return batch;
};

/** Waits with full jitter before the next batch; gives up past the budget. */
const patient = async (round: number): Promise<void> => {
  if (round >= ROUNDS) throw new Unavailable("the command queue's refusals outlasted the retry budget");
  await sleep(Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** round));
};

/** Runs one SDK call, which retries by itself; what it then still says of lost contact or throttling is `Unavailable`. */
const lostContact = async <T>(call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    throw isLost(error)
      ? new Unavailable("the command queue could not be reached or throttled", { cause: error })
      : error;
  }
};

const isLost = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code, $metadata } = error as { code?: unknown; $metadata?: { httpStatusCode?: number } };
  const isSocket = typeof code === "string" && /^E(?!RR_)[A-Z_]+$/.test(code);
  return error.name === "TimeoutError" || isThrottle(error.name) || isSocket || ($metadata?.httpStatusCode ?? 0) >= 500;
};

const isThrottle = (code: string): boolean => /throttl|overlimit|limitexceeded/i.test(code);
