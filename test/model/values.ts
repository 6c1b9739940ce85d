/** What the reference broker is made of. */
import type { ProblemCode } from "../support/problems.ts";
import type { QueueSettings } from "../support/shapes.ts";

export type Refused = ProblemCode | undefined;
export type Verdict = ProblemCode | `XA_${string}`;

export interface Ref {
  readonly name: string;
  readonly epoch: number;
}

export type Headers = Readonly<Record<string, string | number>>;

export interface Message {
  readonly body: string;
  readonly ttlMs: number;
  readonly deduplicationId: string | undefined;
  readonly headers?: Headers;
  /** Its mode: it need be persisted only where a queue says so. */
  readonly isTransient?: boolean;
  /** Of a dead letter: the queue that it came from. */
  readonly origin?: string;
  /** -1 until an answer tells. */
  partition: number;
  state: "new" | "available" | "leased" | "held" | "gone";
  id?: string;
  sequence?: bigint;
  deliveries: number;
  visibleAtMs: number;
  putAtMs: number;
  expiresAtMs: number;
  dropAtMs: number;
  lease?: { expiresAtMs: number; readonly by: Ref | undefined } | undefined;
  holder?: Branch | undefined;
  /** Time has ended it: somebody has to meet it before it is gone from the table too. */
  isEnded?: boolean;
}

export interface Queue {
  readonly name: string;
  readonly settings: Required<QueueSettings>;
  readonly firsts: Map<string, { readonly message: Message; readonly untilMs: number }>;
  messages: Message[];
  deletedAtMs?: number;
  enqueued: number;
  /** What a commit dropped because its deduplication id was taken meanwhile. */
  readonly repeats: Message[];
  readonly settled: Message[];
  readonly dead: Message[];
}

export interface Session extends Ref {
  timeoutSeconds: number;
  expiresAtMs: number;
  isClosed: boolean;
}

export interface Outcome {
  readonly state: string;
  readonly isRepeatable: boolean;
  readonly untilMs: number;
}

export type Verb = "prepare" | "onePhase" | "commit" | "rollback" | "decideCommit" | "decideRollback" | "forget";

export interface Delivery {
  readonly message: Message;
  readonly queue: Queue;
  lease: Message["lease"];
}

export interface Branch {
  state: "open" | "rollback-only" | "timed-out" | "prepared" | "heuristically-committed" | "heuristically-rolled-back";
  readonly startedBy: string;
  readonly workers: Ref[];
  readonly adds: Placed[];
  readonly removes: Placed[];
  associations: { readonly name: string; readonly epoch: number; isSuspended: boolean }[];
  timeoutSeconds: number;
  deadlineMs: number;
}

/** A copy of a message on one queue. */
export interface Placed {
  readonly queue: Queue;
  readonly message: Message;
}

export interface Binding {
  readonly queue: Queue;
  readonly bindingKey: string;
  readonly arguments: Readonly<Record<string, string | number | null>>;
}

export interface Exchange {
  readonly type: "direct" | "fanout" | "topic" | "headers";
  readonly alternate: string | null;
  bindings: readonly Binding[];
  unroutable: number;
}

/** Messages of one queue on their way to its dead-letter queue, in an order that they keep. */
export interface Due {
  readonly target: string;
  readonly from: Queue;
  readonly messages: readonly Message[];
  readonly reason: string;
}
