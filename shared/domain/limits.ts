/** A bound on everything, each with its reason. Sizes are bytes, times are seconds unless the name says otherwise. */

/** Messages a call may enqueue, acquire or settle: what one handler does well inside its time limit. */
export const MESSAGES_PER_CALL = 500;
/** The largest body of one message, decoded. */
export const MESSAGE_BYTES = 1024 * 1024;
/** The largest request as sent, escapes counted: below Lambda's 6 MB event. */
export const REQUEST_BYTES = 5 * 1024 * 1024;
/**
 * The largest body of one message in the command queue: SQS takes 1 MiB, and escapes may make a body three times as long.
 * Smaller than a batch, so that it fits into one.
 */
export const QUEUED_BYTES = 250 * 1024;
/** Bodies of one batch that is sent to the command queue, escapes counted. */
export const BATCHED_BYTES = 256 * 1024;
/** Answers stop before this: below Lambda's 6 MB response. */
export const ANSWER_BYTES = 4_000_000;

/** Messages in one run: keeps a run's record small even when every message has a state of its own. */
export const MESSAGES_PER_RUN = 100;
/** A record with its bodies inline stays within one write unit. */
export const INLINE_RECORD_BYTES = 1024;
/** A payload chunk: below DynamoDB's 400 KB an item, keys and attribute names included. */
export const PAYLOAD_CHUNK_BYTES = 380 * 1024;

/** Records one TransactWriteItems may hold: AWS allows 100, a few are kept back. */
export const RECORDS_PER_COMMIT = 95;
/** Deduplication ids × queues in one call: all of them are in its one transaction. */
export const DEDUPLICATIONS_PER_CALL = 90;

/** Bodies of one publish, on all its queues together: what a function of 1 GB can hold while it writes them. */
export const COPIES_BYTES = 128 * 1024 * 1024;

/** Queues that one publish may reach: their positions, and their names in the remembered answer, stay within a record. */
export const QUEUES_PER_CALL = 2_000;

/** Partitions of a queue: its counters are created and closed in one transaction. */
export const PARTITIONS = 64;
export const NAME_LENGTH = 127;
/** message, correlation and deduplication ids, reply-to, content type: short enough for a key or a header. */
export const TEXT_LENGTH = 255;
/** Headers of a message, encoded as JSON. */
export const HEADERS_BYTES = 16 * 1024;

export const LEASE_SECONDS_DEFAULT = 30;
export const LEASE_SECONDS_MAX = 43_200;
export const WAIT_SECONDS_MAX = 20;
/** Of a TTL, a retention or a delay: ten years, so that sums of milliseconds stay exact. */
export const LIFETIME_SECONDS_MAX = 315_360_000;
export const DELAY_SECONDS_MAX = 43_200;
export const DELIVERIES_MAX = 1000;
/** Of `maxMessages` and `maxBytes`: sums stay exact in a JSON number. */
export const CAPACITY_MAX = 1_000_000_000_000;

export const SESSION_TIMEOUT_SECONDS_DEFAULT = 300;
export const SESSION_TIMEOUT_SECONDS_MAX = 86_400;
/** A dead session's record stays, so that no epoch is used twice under its name; so do completions, for whoever resumes it. */
export const SESSION_REMEMBERED_SECONDS = 7 * 86_400;
/** Command ids that a session can give: their sums stay exact, and their decimals within what a query takes. */
export const COMMANDS_MAX = 999_999_999_999_999;
/** Completions in one answer. */
export const COMPLETIONS_PER_ANSWER = 500;
/** Ranges of properly detached epochs that a session remembers; older ones count as not detached. */
export const DETACHED_RANGES = 100;

export const BRANCH_TIMEOUT_SECONDS_DEFAULT = 60;
export const BRANCH_TIMEOUT_SECONDS_MAX = 3600;
/** Operations kept on the branch's own record, in bytes; a fuller list is put aside as a block. */
export const BRANCH_OPERATIONS_BYTES = 3 * 1024;
/** Messages one branch may hold: what a commit can apply in a few calls of 30 s. */
export const MESSAGES_PER_BRANCH = 100_000;
/** Sessions that may have worked in one branch: they are checked by every verb. */
export const SESSIONS_PER_BRANCH = 50;
/** Finished branches, deduplication and idempotency are remembered this long. */
export const REMEMBERED_SECONDS = 86_400;
/** Shards of the prepared list and of the tails. */
export const SHARDS = 16;

/** Settings may be this old before they are read again: what settings say never changes, only whether the queue is there. */
export const SETTINGS_CACHE_MS = 30_000;
/** A deleted queue is swept until the longest handler life is over, in ms. */
export const DELETED_QUEUE_SWEEP_MS = 16 * 60_000;
/** A call that may be long (purge, large commit, sweep) stops and says how to go on, in ms after it began. */
export const LONG_CALL_MS = 20_000;
/** In-doubt branches in one recovery answer. */
export const IN_DOUBT_PER_ANSWER = 100;

/** Buried queues that the store's record names at once: it stays well below DynamoDB's 400 KB; a sweep waits for room. */
export const FOLDED_QUEUES = 500;
/** How long they are named after their tails went: longer than any reader lives that may have seen the tails, in ms. */
export const FOLDED_MS = 60 * 60_000;
/** Names that leave the store's record in one write. */
export const FORGOTTEN_PER_FOLD = 50;
/** Of `replicaTimeoutSeconds`: a day, which is what a stream keeps. */
export const REPLICA_TIMEOUT_SECONDS_MAX = 86_400;
/** `replicaTimeoutSeconds` unless it is set: well below the 30 s of a call, which waits for it. */
export const REPLICA_TIMEOUT_SECONDS = 10;
/** How long a process goes by the members that it read, in ms; what completes a call is always read anew. */
export const MEMBERS_KNOWN_MS = 1_000;
/** Replicas of a cluster: a table's stream feeds two readers well. */
export const REPLICAS = 2;
