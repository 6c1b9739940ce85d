import type { Queue } from "../../domain/queue.ts";
import { settingsKey, shards, tailShard } from "../../records/keys.ts";
import { readQueue } from "../../records/queue.ts";
import { text } from "../../records/reading.ts";
import type { Context } from "../context.ts";
import { merged } from "../merged.ts";

export interface QueuesWanted {
  readonly prefix: string;
  readonly limit: number;
  /** Only queues whose names come after this one. */
  readonly after?: string | undefined;
}

/** Queues sorted by name; `next` is the name to go on after when there may be more. */
export const listQueues = async (
  context: Context,
  { prefix, limit, after }: QueuesWanted,
): Promise<{ readonly queues: readonly Queue[]; readonly next?: string }> => {
  const { from, to } = boundsOf(prefix, after);
  const sources = shards.map((shard) => namesIn(context, tailShard(shard), from, to));
  const names: string[] = [];
  let more = false;
  for await (const name of merged(sources, (a, b) => a < b)) {
    if (names.at(-1) === name) continue;
    more = names.length === limit;
    if (more) break;
    names.push(name);
  }
  const next = names.at(-1);
  return { queues: await settingsOf(context, names), ...(more && next !== undefined && { next }) };
};

/** Tails are sorted by `<name>#…`; `#` and `$` come before every character of a name, `~` after. */
const boundsOf = (prefix: string, after: string | undefined): { from: string; to: string } => ({
  from: after !== undefined && after >= prefix ? `${after}$` : prefix === "" ? "!" : prefix,
  to: `${prefix}~`,
});

/** The queues whose first tail lies in this shard. */
async function* namesIn(context: Context, pk: string, from: string, to: string): AsyncGenerator<string> {
  if (from > to) return;
  let after: string | undefined;
  do {
    const page = await context.store.query({ pk, from, to, ...(after !== undefined && { after }) });
    for (const item of page.items) {
      const [name = "", , partition] = text(item, "sk").split("#");
      if (partition === "0" && item.closed !== true) yield name;
    }
    after = page.next;
  } while (after !== undefined);
}

const settingsOf = async (context: Context, names: readonly string[]): Promise<readonly Queue[]> => {
  const items = await context.store.readAll(names.map(settingsKey));
  return names.flatMap((name, i) => {
    const item = items[i];
    return item === undefined ? [] : readQueue(name, item);
  });
};
