/** What the reference broker is made of. */
import type { ProblemCode } from "../support/problems.ts";
import type { QueueSettings } from "../support/shapes.ts";

export type Refused = ProblemCode | undefined;
export type Verdict = ProblemCode | `XA_${string}`;

export interface Ref {
  readonly name: string;
  readonly epoch: number;
}

export interface Message {
  readonly body: string;
  readonly ttlMs: number;
  readonly deduplicationId: string | undefined;
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
  readonly adds: { readonly queue: Queue; readonly message: Message }[];
  readonly removes: { readonly queue: Queue; readonly message: Message }[];
  associations: { readonly name: string; readonly epoch: number; isSuspended: boolean }[];
  timeoutSeconds: number;
  deadlineMs: number;
}

/** Messages of one queue on their way to its dead-letter queue, in an order that they keep. */
export interface Due {
  readonly target: string;
  readonly from: Queue;
  readonly messages: readonly Message[];
  readonly reason: string;
}
