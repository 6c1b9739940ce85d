/** The one middy stack for what a table's stream hands to a function. */
import middy from "@middy/core";
import type { DynamoDBRecord, DynamoDBStreamEvent } from "aws-lambda";

/** What the edge needs of a call's context: that no write is open when it returns. */
export interface FeedContext {
  settled(): Promise<void>;
}

/** Feeds on a batch in the stream's order. What `feed` throws brings the whole batch again: it must bear that. */
export const streamed = <C extends FeedContext>(
  open: () => C,
  feed: (context: C, records: readonly DynamoDBRecord[]) => Promise<void>,
) =>
  middy<DynamoDBStreamEvent, void>().handler(async ({ Records }) => {
    const context = open();
    try {
      await feed(context, Records);
    } finally {
      await context.settled();
    }
  });
