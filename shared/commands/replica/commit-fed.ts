import { changesPk } from "../../records/keys.ts";
import { itemBytes } from "../../records/size.ts";
import type { Item, Write } from "../../records/write.ts";
import type { Store } from "../../store/port.ts";

/** The replica was promoted: it lives a life of its own. */
export class Fenced extends Error {
  override readonly name = "Fenced";

  constructor() {
    super("this store was promoted: nothing is applied to it any more");
  }
}

/** How often the same is decided again, each time because another did something in between. */
export const TURNS = 20;

/** Commits beside the fence, and says whether all was as it had been read. Throws `Fenced` and `Unavailable`. */
export const commitFed = async (replica: Store, fence: Write, writes: readonly Write[]): Promise<boolean> => {
  if (writes.length === 0) return true;
  const commit = await replica.commit([fence, ...writes]);
  if (commit.done) return true;
  if (commit.failures.some(({ write }) => write.key.pk === changesPk)) throw new Fenced();
  return false;
};

/** A transaction takes 4 MB; what it replaces and deletes counts here as well. */
const BYTES_PER_COMMIT = 3_000_000;

/** Writes that stand in one commit together; `bytes`: of the records before and after them. */
export interface Step {
  readonly writes: readonly Write[];
  readonly bytes: number;
}

export const sizeOf = (item: Item | undefined): number => (item === undefined ? 0 : itemBytes(item));

/** As many of them, from the first on, as one commit takes; at least one. */
export const fitting = <S extends Step>(steps: readonly S[]): readonly S[] => {
  let bytes = 0;
  const end = steps.findIndex((step, i) => {
    if (step.writes.length > 0) bytes += step.bytes;
    return i > 0 && bytes > BYTES_PER_COMMIT;
  });
  return end === -1 ? steps : steps.slice(0, end);
};
