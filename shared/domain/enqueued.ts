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
  /** Nothing of it need be persisted, whatever its queues had already. Not shown. */
  readonly isHandedOn?: true;
}

/** Nothing of it had to be stored: it completed at once, and has no sequence but for duplicates of what is there. */
export const isHandedOn = ({ messages, completed, isHandedOn: isSaid }: EnqueueAnswer): boolean =>
  isSaid === true ||
  (completed &&
    messages.some(({ queues }) => queues.length > 0) &&
    messages.every(({ queues }) => queues.every(({ sequence }) => sequence === undefined)));
