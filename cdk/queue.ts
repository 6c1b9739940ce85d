/**
 * The queue of commands and the one that takes those which fail too often, both first in first out within a group.
 * One list for the stack and for the queues used locally.
 */
export const queues = {
  commands: {
    /**
     * What a consumer took and did not finish is delivered again after this: longer than a function may run (30 s), so
     * that a group never runs twice at once, and short enough that a command in flight goes on within 60 s of a crash.
     */
    visibilitySeconds: 40,
    /** Half of the 24 h for which it is remembered what was applied: nothing is delivered after it was forgotten. */
    retentionSeconds: 12 * 3_600,
    /** Deliveries before a message goes to the dead-letter queue: some 8 minutes of failing. */
    maxReceives: 10,
  },
  "failed-commands": {
    visibilitySeconds: 40,
    /** Time for a person to mend what failed; it counts from the move. */
    retentionSeconds: 4 * 86_400,
  },
} as const;

export type QueueName = keyof typeof queues;
