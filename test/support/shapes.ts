/** The bodies of the contract, as the tests read them. */

export interface MessageInput {
  readonly body: string;
  readonly bodyEncoding?: "utf8" | "base64";
  readonly contentType?: string;
  readonly messageId?: string;
  readonly correlationId?: string;
  readonly replyTo?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly deliveryMode?: "persistent" | "transient";
  readonly ttlSeconds?: number;
  readonly priority?: number;
  readonly deduplicationId?: string;
}

export interface BrowsedMessage extends MessageInput {
  readonly sequence: string;
  readonly messageId: string;
  readonly deadLetter?: {
    readonly queue: string;
    readonly reason: string;
    readonly note?: string;
    readonly deliveryCount: number;
    readonly deadLetteredAt: string;
  };
}

export interface Delivery extends BrowsedMessage {
  readonly deliveryId: string;
  readonly redelivered: boolean;
  readonly deliveryCount: number;
  readonly leaseExpiresAt: string;
}

/** Of a call that was stored as a command. */
export interface Deferred {
  readonly commandId: string;
}

export interface Completion {
  readonly commandId: string;
  readonly status: number;
  readonly body: unknown;
}

export interface CompletionPage {
  readonly completions: readonly Completion[];
  readonly completedThrough: string;
}

export interface Synced {
  readonly completedThrough: string;
  readonly open: readonly string[];
  readonly more?: boolean;
}

export interface Enqueued {
  readonly messages: readonly {
    readonly messageId: string;
    readonly queues: readonly { readonly queue: string; readonly sequence?: string }[];
    readonly duplicate: boolean;
  }[];
  readonly completed: boolean;
}

export interface Settled {
  readonly outcomes: readonly { readonly deliveryId: string; readonly status: string; readonly completed: boolean }[];
  readonly completed: boolean;
}

export interface QueueSettings {
  readonly messageDurability?: "default" | "always" | "never";
  readonly strictOrder?: boolean;
  readonly leaseSeconds?: number;
  readonly maxDeliveries?: number;
  readonly deadLetterQueue?: string | null;
  readonly messageTtlSeconds?: number | null;
  readonly retentionSeconds?: number | null;
  readonly maxMessages?: number | null;
  readonly maxBytes?: number | null;
  readonly overflow?: "reject" | "ring";
  readonly partitions?: number;
}

/** Counters as decimal strings. */
export interface QueueStats {
  readonly available: string;
  readonly leased: string;
  readonly held: string;
  readonly enqueued: string;
  readonly settled: string;
  readonly deadLettered: string;
  readonly changeCounter: string;
  readonly oldestAgeSeconds: number | null;
}

export interface QueueView extends QueueSettings {
  readonly queue: string;
  readonly stats: QueueStats;
}

export interface QueuePage {
  readonly queues: readonly { readonly queue: string }[];
  readonly cursor?: string;
}

export interface InDoubt {
  readonly xid: string;
  readonly preparedAt: string;
  readonly enqueues: readonly { readonly queue: string; readonly messageId: string }[];
  readonly dequeues: readonly { readonly queue: string; readonly messageId: string; readonly sequence: string }[];
}

export interface RecoveryReport {
  readonly inDoubt: readonly InDoubt[];
  readonly more?: boolean;
  readonly finished: number;
  readonly rolledBack: number;
  readonly unreadable: readonly unknown[];
  readonly cursor?: string;
}

export interface AttachedSession {
  readonly session: string;
  readonly epoch: number;
  readonly resumed: boolean;
  readonly expiresAt: string;
  readonly recovery: RecoveryReport;
}

export interface SessionView {
  readonly session: string;
  readonly epoch: number;
  readonly state: string;
  readonly expiresAt: string;
  readonly incompleteCommands: string;
}

/** The answer of a dtx verb. */
export interface XaAnswer {
  readonly xa: string;
  readonly state?: string;
  readonly remembered?: boolean;
}

export interface BranchView {
  readonly xid: string;
  readonly state: string;
}

export interface RecoveredBranch {
  readonly xid: string;
  readonly formatId: number;
  readonly gtrid: string;
  readonly bqual: string;
  readonly state: string;
  readonly preparedAt: string;
  readonly session: string;
}

export interface RecoverPage {
  readonly branches: readonly RecoveredBranch[];
  readonly cursor?: string;
}

export interface MessagePage {
  readonly messages: readonly BrowsedMessage[];
  readonly cursor?: string;
}

export interface ExchangeView {
  readonly exchange: string;
  readonly type: string;
  readonly alternateExchange: string | null;
}

export interface BindingInput {
  readonly queue: string;
  readonly bindingKey?: string;
  readonly arguments?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Counters are decimal strings. */
export interface StoreStatusView {
  readonly storeId: string;
  readonly clusterId: string | null;
  readonly changeCounter: string;
  readonly configChange: string | null;
  readonly configId: string | null;
  readonly changeCounterAtConfigChange: string | null;
  readonly role: string;
  readonly state: string;
  readonly shutdownId: string | null;
  readonly changeCounterAtShutdown: string | null;
  readonly members: readonly object[];
  readonly readAt: string;
}
