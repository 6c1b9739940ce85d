import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type Shard,
  type _Record as StreamRecord,
} from "@aws-sdk/client-dynamodb-streams";
import { contextOf, type Handler } from "./handlers.ts";
import { oneLine } from "./start-failure.ts";
import { streamEvent } from "./stream-event.ts";
import { readPosition, type ShardPosition, type StreamPosition, writePosition } from "./stream-position.ts";

export interface StreamSourceWanted {
  /** Where the table is whose stream is read. */
  readonly endpoint: string;
  readonly tableName: string;
  /** The function that gets the changes, and how many a call at most. */
  readonly lambda: string;
  readonly handler: Handler;
  readonly batchSize: number;
  /** Where is kept how far it was read, so that a later start goes on from there. */
  readonly positionFile: string;
  /** Where failures are told, a line each. */
  readonly log?: (line: string) => void;
}

/** A stream that is being read. `stop` resolves when what runs is done. */
export interface StreamSource {
  stop(): Promise<void>;
}

const pauseWhenEmptyMs = 50;
/** After a failure, doubling. */
const firstPauseMs = 100;
const longestPauseMs = 2_000;
/** How long it is taken for granted which shards there are; a real stream gets new ones every 4 hours. */
const shardsForMs = 10_000;
/** A stream keeps changes for a day. The engine used locally keeps them for ever, so whoever begins passes over older ones. */
const keptMs = 24 * 3_600_000;
/** A function's time. */
const timeoutMs = 30_000;

/** Invokes the function with what is written in the table, as Lambda's event source mapping would: in order, and again until it succeeds. */
export function startStreamSource(wanted: StreamSourceWanted): StreamSource {
  const source = new StreamReader(wanted);
  return { stop: () => source.stop() };
}

class StreamReader {
  readonly #wanted: StreamSourceWanted;
  readonly #tables: DynamoDBClient;
  readonly #streams: DynamoDBStreamsClient;
  readonly #reading: Promise<void>;
  readonly #iterators = new Map<string, string>();
  readonly #stopping = new AbortController();
  #position: StreamPosition | undefined;
  #shards: readonly Shard[] = [];
  #shardsUntilMs = 0;

  constructor(wanted: StreamSourceWanted) {
    this.#wanted = wanted;
    this.#tables = new DynamoDBClient({ endpoint: wanted.endpoint, maxAttempts: 2 });
    this.#streams = new DynamoDBStreamsClient({ endpoint: wanted.endpoint, maxAttempts: 2 });
    this.#reading = this.#read();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reading;
    this.#tables.destroy();
    this.#streams.destroy();
  }

  async #read(): Promise<void> {
    let pauseMs = 0;
    while (!this.#stopping.signal.aborted) {
      try {
        const position = await this.#positionNow();
        const counts = await Promise.all(
          (await this.#openShards(position)).map((shard) => this.#readOnce(position.streamArn, shard)),
        );
        if (!counts.some((count) => count > 0)) await this.#pause(pauseWhenEmptyMs);
        pauseMs = 0;
      } catch (error) {
        if (pauseMs === 0) this.#log(`${this.#wanted.lambda} is behind: ${oneLine(error)}`);
        pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, pauseMs * 2));
        // An iterator is good for some minutes only; all is read again from what is done with.
        this.#iterators.clear();
        this.#shardsUntilMs = 0;
        await this.#pause(pauseMs);
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }

  async #positionNow(): Promise<StreamPosition> {
    if (this.#position !== undefined) return this.#position;
    const { Table } = await this.#tables.send(new DescribeTableCommand({ TableName: this.#wanted.tableName }));
    if (Table?.LatestStreamArn === undefined) throw new Error(`the table ${this.#wanted.tableName} has no stream`);
    this.#position = readPosition(this.#wanted.positionFile, Table.LatestStreamArn);
    return this.#position;
  }

  /** Those that have something left, whose parents have not: a record's changes go on in a child of the shard that they began in. */
  async #openShards({ streamArn, shards }: StreamPosition): Promise<readonly string[]> {
    if (performance.now() > this.#shardsUntilMs) {
      this.#shards = await this.#describe(streamArn);
      this.#shardsUntilMs = performance.now() + shardsForMs;
    }
    const open = new Set(
      this.#shards.flatMap(({ ShardId = "" }) => (shards[ShardId]?.isOver === true ? [] : [ShardId])),
    );
    return this.#shards.flatMap(({ ShardId = "", ParentShardId = "" }) =>
      open.has(ShardId) && !open.has(ParentShardId) ? [ShardId] : [],
    );
  }

  async #describe(StreamArn: string): Promise<readonly Shard[]> {
    const all: Shard[] = [];
    for (let ExclusiveStartShardId: string | undefined; ; ) {
      const { StreamDescription } = await this.#streams.send(
        new DescribeStreamCommand({ StreamArn, ExclusiveStartShardId }),
      );
      all.push(...(StreamDescription?.Shards ?? []));
      ExclusiveStartShardId = StreamDescription?.LastEvaluatedShardId;
      if (ExclusiveStartShardId === undefined) return all;
    }
  }

  /** One batch of one shard; how many changes it had. */
  async #readOnce(streamArn: string, shard: string): Promise<number> {
    const { after } = this.#position?.shards[shard] ?? {};
    const ShardIterator = this.#iterators.get(shard) ?? (await this.#iterator(streamArn, shard, after));
    const { Records = [], NextShardIterator } = await this.#streams.send(
      new GetRecordsCommand({ ShardIterator, Limit: this.#wanted.batchSize }),
    );
    const oldestMs = Date.now() - keptMs;
    const kept = after === undefined ? Records.filter((record) => writtenAtMs(record) > oldestMs) : Records;
    if (kept.length > 0) await this.#invoke(streamArn, kept);
    const last = Records.at(-1)?.dynamodb?.SequenceNumber ?? after;
    // What was passed over is passed over again by whoever begins, as long as nothing is done with.
    if (kept.length > 0) this.#keep(shard, { ...(last !== undefined && { after: last }) });
    if (NextShardIterator === undefined) {
      this.#keep(shard, { ...(last !== undefined && { after: last }), isOver: true });
      this.#shardsUntilMs = 0;
    } else this.#iterators.set(shard, NextShardIterator);
    return Records.length;
  }

  async #iterator(StreamArn: string, ShardId: string, after: string | undefined): Promise<string> {
    const from =
      after === undefined
        ? ({ ShardIteratorType: "TRIM_HORIZON" } as const)
        : ({ ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber: after } as const);
    const { ShardIterator } = await this.#streams.send(new GetShardIteratorCommand({ StreamArn, ShardId, ...from }));
    if (ShardIterator === undefined) throw new Error(`shard ${ShardId} has no iterator`);
    return ShardIterator;
  }

  /** A failure stops the shard: what comes after may not be seen before. */
  async #invoke(streamArn: string, records: readonly StreamRecord[]): Promise<void> {
    const { handler, lambda } = this.#wanted;
    await handler(streamEvent(streamArn, records), contextOf(lambda, randomUUID(), timeoutMs));
  }

  #keep(shard: string, position: ShardPosition): void {
    if (this.#position === undefined) return;
    this.#position = { ...this.#position, shards: { ...this.#position.shards, [shard]: position } };
    writePosition(this.#wanted.positionFile, this.#position);
  }

  #log(line: string): void {
    if (this.#wanted.log === undefined) process.stderr.write(`${line}\n`);
    else this.#wanted.log(line);
  }
}

const writtenAtMs = ({ dynamodb }: StreamRecord): number => dynamodb?.ApproximateCreationDateTime?.getTime() ?? 0;
