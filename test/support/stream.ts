/** A table's stream, read by hand: each record's new image in order, as often and as late as a test wants. */
import { type DynamoDBClient, UpdateTableCommand } from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  type GetRecordsCommandOutput,
  GetShardIteratorCommand,
  type Shard,
} from "@aws-sdk/client-dynamodb-streams";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { Item } from "../../shared/records/write.ts";

/** Turns the stream of a table on; from here on it has every change. */
export const enableStream = async (client: DynamoDBClient, endpoint: string, table: string): Promise<TableStream> => {
  const StreamSpecification = { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } as const;
  const { TableDescription } = await client.send(new UpdateTableCommand({ TableName: table, StreamSpecification }));
  const arn = TableDescription?.LatestStreamArn;
  if (arn === undefined) throw new Error(`${table} has no stream`);
  return new TableStream(new DynamoDBStreamsClient({ endpoint }), arn);
};

/** Shards are looked for so often. */
const DESCRIBE_MS = 500;
const RECORDS = 1_000;

export class TableStream {
  readonly #client: DynamoDBStreamsClient;
  readonly #arn: string;
  readonly #iterators = new Map<string, string | undefined>();
  #shards: readonly Shard[] = [];
  #describedAtMs = Number.NEGATIVE_INFINITY;

  constructor(client: DynamoDBStreamsClient, arn: string) {
    this.#client = client;
    this.#arn = arn;
  }

  /** The images of all records since the last call. */
  async read(): Promise<readonly Item[]> {
    const images: Item[] = [];
    if (performance.now() - this.#describedAtMs > DESCRIBE_MS) {
      const { StreamDescription } = await this.#client.send(new DescribeStreamCommand({ StreamArn: this.#arn }));
      this.#shards = StreamDescription?.Shards ?? [];
      this.#describedAtMs = performance.now();
    }
    for (const shard of this.#shards) images.push(...(await this.#readShard(shard)));
    return images;
  }

  async #readShard({ ShardId = "" }: Shard): Promise<readonly Item[]> {
    const images: Item[] = [];
    let iterator = this.#iterators.has(ShardId) ? this.#iterators.get(ShardId) : await this.#begin(ShardId);
    while (iterator !== undefined) {
      const answer: GetRecordsCommandOutput = await this.#client.send(
        new GetRecordsCommand({ ShardIterator: iterator, Limit: RECORDS }),
      );
      images.push(
        ...(answer.Records ?? []).flatMap(({ dynamodb }) =>
          dynamodb?.NewImage === undefined ? [] : [unmarshall(dynamodb.NewImage as never) as Item],
        ),
      );
      iterator = answer.NextShardIterator;
      if ((answer.Records ?? []).length < RECORDS) break;
    }
    this.#iterators.set(ShardId, iterator);
    return images;
  }

  async #begin(ShardId: string): Promise<string | undefined> {
    const answer = await this.#client.send(
      new GetShardIteratorCommand({ StreamArn: this.#arn, ShardId, ShardIteratorType: "TRIM_HORIZON" }),
    );
    return answer.ShardIterator;
  }

  destroy(): void {
    this.#client.destroy();
  }
}
