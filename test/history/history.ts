/**
 * A recorded history: what callers asked, when they began, what they were told and when. Messages are known by their
 * bodies, which are unique; a copy of a publish by its body and the queue that it was put on (`copyOf`). Times are the recorder's own, in ms, and never jump. One JSON text a line.
 */
export interface Entry {
  readonly n: number;
  readonly who: string;
  readonly atMs: number;
  /** When the answer came; undefined: none came, so it is not known what happened. */
  readonly untilMs?: number;
  readonly asked: Asked;
  /** Undefined: no answer, or 5xx, after which the call may have been carried out or not. */
  readonly told?: Told;
}

/** What a queue was declared with, as far as a check must know it. */
export interface QueueRules {
  readonly deadLetterQueue?: string;
  readonly messageTtlSeconds?: number;
  readonly maxDeliveries?: number;
  readonly maxMessages?: number;
  readonly overflow?: "reject" | "ring";
  readonly messageDurability?: "default" | "always" | "never";
  readonly strictOrder?: boolean;
}

/** How messages are sent. */
export interface Sending {
  /** Their mode: they need be persisted only where a queue says so. */
  readonly isTransient?: boolean;
  /** As a command of the session. */
  readonly isLater?: boolean;
}

/** The name of a publish's copy on one queue. */
export const copyOf = (message: string, queue: string): string => `${message} on ${queue}`;

export type Asked =
  | { readonly call: "declare"; readonly queue: string; readonly rules: QueueRules }
  | ({
      readonly call: "enqueue";
      readonly queue: string;
      readonly messages: readonly string[];
      readonly ttlSeconds?: number;
      readonly xid?: string;
      readonly session?: SessionAt;
    } & Sending)
  | ({
      readonly call: "publish";
      readonly exchange: string;
      /** Where its bindings lead. */
      readonly queues: readonly string[];
      readonly messages: readonly string[];
      readonly xid?: string;
      readonly session?: SessionAt;
    } & Sending)
  | { readonly call: "acquire"; readonly queue: string; readonly session?: SessionAt }
  | {
      readonly call: "accept";
      readonly deliveries: readonly Handed[];
      readonly xid?: string;
      readonly session?: SessionAt;
      readonly isLater?: boolean;
    }
  /** What a session's commands above an id have come to; at rest nothing of it is open any more. */
  | { readonly call: "completions"; readonly session: SessionAt; readonly after: string; readonly isAtRest?: boolean }
  | { readonly call: "release"; readonly deliveries: readonly Handed[] }
  | { readonly call: "reject"; readonly queue: string; readonly deliveries: readonly Handed[] }
  /** The dead letters of a queue, back to where they came from. */
  | { readonly call: "redrive"; readonly queue: string }
  | { readonly call: "attach" | "detach"; readonly session: SessionAt }
  | {
      readonly call: "start" | "end" | "prepare" | "commit" | "rollback";
      readonly xid: string;
      readonly session?: SessionAt;
    }
  /** What became of a branch, asked when all is over. */
  | { readonly call: "outcome"; readonly xid: string }
  | { readonly call: "stats"; readonly queue: string; readonly isAtRest?: boolean }
  /** Everything that a queue has left, taken when all is over. */
  | { readonly call: "drain"; readonly queue: string }
  /** Nothing that was asked: the service was killed, or its clock jumped. */
  | { readonly call: "event"; readonly what: string };

export interface SessionAt {
  readonly name: string;
  /** 0: without one. */
  readonly epoch: number;
}

export interface Handed {
  readonly message: string;
  readonly deliveryId: string;
}

export type Told =
  /** A refusal: nothing was done. */
  | { readonly refused: string }
  /** Of a publish: of its first message on each queue, then of its second. */
  | { readonly sequences: readonly string[] }
  | { readonly redriven: number }
  /** It is a command of its session. */
  | { readonly commandId: string }
  | { readonly completions: readonly Completed[]; readonly through: string }
  | { readonly deliveries: readonly Delivered[] }
  | { readonly statuses: readonly string[] }
  | { readonly epoch: number }
  | { readonly xa: string }
  | { readonly outcome: "committed" | "rolled-back" | "unknown" }
  | { readonly stats: Counts }
  | { readonly done: true };

/** What a command came to: its messages, each with its place on each queue, or the outcomes of its deliveries. */
export interface Completed {
  readonly id: string;
  readonly status: number;
  readonly refused?: string;
  readonly places?: readonly Readonly<Record<string, string>>[];
  readonly statuses?: readonly string[];
}

export interface Delivered extends Handed {
  readonly sequence: string;
  readonly redelivered: boolean;
  /** Of a dead letter. */
  readonly dead?: { readonly queue: string; readonly reason: string; readonly deliveryCount: number };
}

export interface Counts {
  readonly available: number;
  readonly leased: number;
  readonly held: number;
  readonly enqueued: number;
  readonly settled: number;
  readonly deadLettered: number;
  readonly changes: number;
}

export const toLines = (entries: readonly Entry[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");

export const fromLines = (text: string): readonly Entry[] =>
  text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Entry]));

/** An entry for people. */
export const described = ({ n, who, atMs, untilMs, asked, told }: Entry): string => {
  const { call, ...rest } = asked;
  const answer = told === undefined ? "no answer" : JSON.stringify(told);
  return `#${n} ${who} ${Math.round(atMs)}-${untilMs === undefined ? "?" : Math.round(untilMs)} ms: ${call} ${JSON.stringify(rest)} → ${answer}`;
};
