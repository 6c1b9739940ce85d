/** What a commit of a replicated store writes besides: versions on all its records, stones for what it deletes. */
import { type Mark, markAttributes, olderThan, putStone, putStones, stoneKey } from "../../records/replication.ts";
import type { Key, Write } from "../../records/write.ts";

/** `carried`: the last commit of several records that is known to have written the record that a write replaces. */
export const marked = (
  writes: readonly Write[],
  mark: Mark,
  id: string,
  carried: (key: Key) => string | undefined,
): readonly Marked[] => {
  const deleted = writes.flatMap(({ kind, key }) => (kind === "delete" && !isUsedAgain(key) ? [key] : []));
  return [
    ...writes.flatMap((write) => markedOne(write, mark, carried(write.key))),
    ...(deleted.length > 0 ? [{ write: putStones(id, deleted, mark) }] : []),
  ];
};

/** A write as it is made; `of`: the write that was asked for, when it stands for one. */
export interface Marked {
  readonly write: Write;
  readonly of?: Write;
}

const markedOne = (write: Write, mark: Mark, carried: string | undefined): readonly Marked[] => {
  const older = olderThan(mark.stamp);
  switch (write.kind) {
    case "check":
      return [{ write, of: write }];
    case "put": {
      const attributes = markAttributes({ ...mark, commit: mark.commit ?? carried });
      const isNew = write.require.some(({ is }) => is === "absent");
      const put = {
        ...write,
        item: { ...write.item, ...attributes },
        require: isNew ? write.require : [...write.require, older],
      };
      // Nobody who makes it again has met the version with which it went: its stone has that.
      const check = { kind: "check", key: stoneKey(write.key), require: [older], otherwise: "reload" } as const;
      return [{ write: put, of: write }, ...(isNew && isUsedAgain(write.key) ? [{ write: check }] : [])];
    }
    case "update": {
      const set = Object.entries(markAttributes(mark)).map(([name, value]) => [[name], value] as const);
      const change = { ...write.change, set: [...(write.change.set ?? []), ...set] } as typeof write.change;
      return [{ write: { ...write, change, require: [...write.require, older] }, of: write }];
    }
    case "delete":
      return [
        { write: { ...write, require: [...write.require, older] }, of: write },
        ...(isUsedAgain(write.key) ? [{ write: putStone(write.key, mark) }] : []),
      ];
  }
};

/** Keys that are put again soon after they were deleted, by processes that need not have met what deleted them. */
const isUsedAgain = ({ sk }: Key): boolean => sk === "SETTINGS" || sk.startsWith("XID#");
