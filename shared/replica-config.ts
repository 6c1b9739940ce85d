/** The environment of the function that feeds a replica, read once a process, and what each call gets from it. */
import { tableClient } from "./store/client.ts";
import { DynamoStore } from "./store/dynamodb.ts";

const tableName = process.env.CAIRN_REPLICA_TABLE ?? "";

const client = tableClient(process.env.CAIRN_REPLICA_ENDPOINT, process.env.CAIRN_REPLICA_REGION);

/**
 * Commits that this process has noted on the replica, kept for the batches that follow at once: a replica that was given
 * up may be emptied and fed from the beginning.
 */
let noted = new Set<string>();
let notedSinceMs = 0;
const NOTED_MS = 5_000;

export interface FeedScope {
  readonly replica: DynamoStore;
  readonly noted: Set<string>;
  settled(): Promise<void>;
}

export const openFeed = (): FeedScope => {
  if (Date.now() - notedSinceMs > NOTED_MS) {
    noted = new Set();
    notedSinceMs = Date.now();
  }
  const replica = new DynamoStore(client, tableName);
  return { replica, noted, settled: () => replica.settled() };
};
