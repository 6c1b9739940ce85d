import type { Item } from "../records/write.ts";
import type { Context } from "./context.ts";

/** No name, and so no sort key of a list of names, comes before this one. */
const FIRST_NAME = "-";

/** The records of a list of names, a page of the table at a time. */
export async function* namesPages(context: Pick<Context, "store">, pk: string): AsyncGenerator<readonly Item[]> {
  let after: string | undefined;
  do {
    const page = await context.store.query({ pk, from: FIRST_NAME, ...(after !== undefined && { after }) });
    yield page.items;
    after = page.next;
  } while (after !== undefined);
}

/** How often the schedule runs its functions. */
const RUN_MS = 60_000;

/** The same in another order at each run of the schedule: nothing waits forever behind what takes the whole time of one. */
export const inTurn = <T>(all: readonly T[], nowMs: number): readonly T[] => {
  const first = Math.floor(nowMs / RUN_MS) % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
};
