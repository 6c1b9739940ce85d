/** The port to the ordered command queue. Its SQS form: `sqs.ts`. */

export interface QueuedMessage {
  /** Messages of one group are consumed in the order in which they were sent, one batch at a time. Any text. */
  readonly group: string;
  /** The deduplication id: what is sent again under it within some minutes may be dropped. Any text. */
  readonly id: string;
  /** JSON, at most `QUEUED_BYTES` bytes of UTF-8. */
  readonly body: string;
}

export interface CommandQueue {
  /**
   * All of them are in the queue when it resolves, those of one group in the order given; throws `Unavailable` when some
   * may not be, though any of them may. May be repeated: the queue delivers twice anyway, and its consumer knows ids.
   */
  send(messages: readonly QueuedMessage[]): Promise<void>;
}
