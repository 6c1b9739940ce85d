/** Messages as the broker keeps them: values, sizes; how they lie in a record is in `shared/records/payload.ts`. */

/** A value of a message header. */
export type HeaderValue = string | number | boolean;

/** Why a message stands on a dead-letter queue, and where it came from. */
export interface DeadLetter {
  readonly queue: string;
  readonly reason: DeadLetterReason;
  /** What the caller of reject or release said, if anything. */
  readonly note?: string;
  readonly deliveryCount: number;
  readonly deadLetteredAtMs: number;
}

export type DeadLetterReason = "rejected" | "max-deliveries" | "expired" | "queue-deleted";

/** Everything about a message but its body. An absent field was not given. */
export interface Properties {
  readonly bodyEncoding: "utf8" | "base64";
  /** Absent when it is the default: the id of its run, a dash and its index there. */
  readonly messageId?: string;
  readonly contentType?: string;
  readonly correlationId?: string;
  readonly replyTo?: string;
  readonly headers?: Readonly<Record<string, HeaderValue>>;
  readonly deliveryMode: "persistent" | "transient";
  readonly ttlSeconds?: number;
  readonly priority?: number;
  readonly deduplicationId?: string;
  readonly deadLetter?: DeadLetter;
}

export interface Message {
  readonly properties: Properties;
  readonly body: Uint8Array;
}
