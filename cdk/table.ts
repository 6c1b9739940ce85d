/** The one table: its key, and the attribute (epoch seconds) by which DynamoDB deletes records of the past. */
export const table = {
  partitionKey: "pk",
  sortKey: "sk",
  timeToLiveAttribute: "ttl",
} as const;
