import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** How far a stream was read: by shard, the last change that is done with, and whether there is nothing more in it. */
export interface StreamPosition {
  readonly streamArn: string;
  readonly shards: Readonly<Record<string, ShardPosition>>;
}

export interface ShardPosition {
  readonly after?: string;
  readonly isOver?: boolean;
}

/** What was kept of this stream; the beginning when the file is missing, torn, or of another stream. */
export function readPosition(file: string, streamArn: string): StreamPosition {
  try {
    const kept = JSON.parse(readFileSync(file, "utf8")) as StreamPosition;
    if (kept.streamArn === streamArn) return kept;
  } catch {
    // As good as none: whatever is read again is known to the replica.
  }
  return { streamArn, shards: {} };
}

/** Whole or not at all, whenever the process dies. */
export function writePosition(file: string, position: StreamPosition): void {
  writeFileSync(`${file}.new`, JSON.stringify(position));
  renameSync(`${file}.new`, file);
}
