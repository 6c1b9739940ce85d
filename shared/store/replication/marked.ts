/** What a commit of a replicated store writes besides: versions on all its records, stones for what it deletes. */
import {
  type Mark,
  markAttributes,
  olderThan,
  putStone,
  putStones,
  stampOf,
  stoneKey,
} from "../../records/replication.ts";
import { absent, type Item, type Key, type Term, type Write } from "../../records/write.ts";

/** What is known of what was at a key. */
export interface Former {
  /** The last commit of several records that wrote, or deleted, the record that a write replaces. */
  readonly commit: (key: Key) => string | undefined;
  /** The stone of a record that is made again (`isMadeAgain`), as it was read. */
  readonly stone: (key: Key) => Item | undefined;
}

export const marked = (writes: readonly Write[], mark: Mark, id: string, former: Former): readonly Marked[] => {
  const deleted = writes.flatMap(({ kind, key }) => (kind === "delete" && !isUsedAgain(key) ? [key] : []));
  return [
    ...writes.flatMap((write) => markedOne(write, mark, former)),
    ...(deleted.length > 0 ? [{ write: putStones(id, deleted, stoneMark(mark, deleted, former)) }] : []),
  ];
};

/** A commit of one deletion has no journal: its stone is the only one to tell of the commit that wrote what is gone. */
const stoneMark = (mark: Mark, deleted: readonly Key[], former: Former): Mark => {
  const [only, ...others] = deleted;
  if (mark.commit !== undefined || only === undefined || others.length > 0) return mark;
  return { ...mark, commit: former.commit(only) };
};

/** A write as it is made; `of`: the write that was asked for, when it stands for one. */
export interface Marked {
  readonly write: Write;
  readonly of?: Write;
}

/** It is put where none is, and may have been before: the stone there tells what it comes after. */
export const isMadeAgain = (write: Write): boolean => isNew(write) && isUsedAgain(write.key);

const isNew = (write: Write): boolean => write.kind === "put" && write.require.some(({ is }) => is === "absent");

const asRead = (stone: Item | undefined): Term =>
  stone === undefined ? absent : { is: "equal", path: ["rv"], value: stampOf(stone) };

const markedOne = (write: Write, mark: Mark, former: Former): readonly Marked[] => {
  const older = olderThan(mark.stamp);
  switch (write.kind) {
    case "check":
      return [{ write, of: write }];
    case "put": {
      const attributes = markAttributes({ ...mark, commit: mark.commit ?? former.commit(write.key) });
      const put = {
        ...write,
        item: { ...write.item, ...attributes },
        require: isNew(write) ? write.require : [...write.require, older],
      };
      if (!isMadeAgain(write)) return [{ write: put, of: write }];
      // Whoever makes it again knows the version and the commit with which it went by its stone.
      const require = [asRead(former.stone(write.key))];
      return [
        { write: put, of: write },
        { write: { kind: "check", key: stoneKey(write.key), require, otherwise: "reload" } },
      ];
    }
    case "update": {
      const set = Object.entries(markAttributes(mark)).map(([name, value]) => [[name], value] as const);
      const change = { ...write.change, set: [...(write.change.set ?? []), ...set] } as typeof write.change;
      return [{ write: { ...write, change, require: [...write.require, older] }, of: write }];
    }
    case "delete":
      return [
        { write: { ...write, require: [...write.require, older] }, of: write },
        ...(isUsedAgain(write.key) ? [{ write: putStone(write.key, stoneMark(mark, [write.key], former)) }] : []),
      ];
  }
};

/** Keys that are put again soon after they were deleted, by processes that need not have met what deleted them. */
const isUsedAgain = ({ sk }: Key): boolean => sk === "SETTINGS" || sk.startsWith("XID#");
