import type { Commit, ScanPage, Store, WholeStore } from "../../shared/store/port.ts";

/** Whoever worked on the store is gone. */
export class Died extends Error {
  override readonly name = "Died";
}

/** What to do with the call of this number, from 0: make it, or die before it or after it. */
export type Fate = (call: number) => "lives" | "dies before" | "dies after";

/** A store on which a caller dies at a call, and at every later one. */
export const dyingStore = (store: WholeStore, fate: Fate): WholeStore => {
  let calls = 0;
  let isDead = false;
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    const what = isDead ? "dies before" : fate(calls++);
    if (what !== "lives") isDead = true;
    if (what === "dies before") throw new Died();
    const answer = await call();
    if (what === "dies after") throw new Died();
    return answer;
  };
  return {
    read: (...asked) => around(() => store.read(...asked)),
    readAll: (...asked) => around(() => store.readAll(...asked)),
    query: (...asked) => around(() => store.query(...asked)),
    commit: (...asked: Parameters<Store["commit"]>): Promise<Commit> => around(() => store.commit(...asked)),
    count: (...asked) => around(() => store.count(...asked)),
    scan: (...asked): Promise<ScanPage> => around(() => store.scan(...asked)),
  };
};
