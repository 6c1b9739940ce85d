/** What enqueues and publishes come to. */

/** What one message became. Without a sequence it waits on its branch, or is on its way through the command queue. */
export interface Enqueued {
  readonly messageId: string;
  readonly queues: readonly { readonly queue: string; readonly sequence?: string }[];
  readonly duplicate: boolean;
}

export interface EnqueueAnswer {
  readonly messages: readonly Enqueued[];
  /** Stored on every queue where it must be; false in a branch, where that is the commit's work. */
  readonly completed: boolean;
}

/** Nothing of it had to be stored: it has no sequence, and completed at once. */
export const isHandedOn = ({ messages, completed }: EnqueueAnswer): boolean =>
  completed &&
  messages.some(({ queues }) => queues.length > 0) &&
  messages.every(({ queues }) => queues.every(({ sequence }) => sequence === undefined));
