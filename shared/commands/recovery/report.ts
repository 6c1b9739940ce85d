import { ANSWER_BYTES, IN_DOUBT_PER_ANSWER } from "../../domain/limits.ts";
import type { Context } from "../context.ts";
import type { Place } from "../dtx/branch-items.ts";
import type { InDoubt } from "./in-doubt.ts";
import { type Recovered, replayItem } from "./recover-item.ts";

export interface Recovery {
  readonly inDoubt: readonly InDoubt[];
  /** Decided branches that were finished, and doomed ones that were rolled back. */
  readonly finished: number;
  readonly rolledBack: number;
  /** The xids of branches that cannot be read, or that hold something that cannot. */
  readonly unreadable: readonly string[];
  /** Not everything is done or listed: in doubt beyond the bound, or work that others or the clock cut short. */
  readonly more: boolean;
  /** Where the recovery of the whole store goes on, when this was not the end. */
  readonly next?: Place;
}

/** Half an answer: what is listed before a branch and that branch's own mappings stay within a whole one. */
const REPLAY_BYTES = ANSWER_BYTES / 2;
/** What an answer says of a branch beside its mappings, about. */
const ENTRY_BYTES = 400;

/** Gathers what recovery did and found, and knows when the answer is full and when the call must stop. */
export class Report {
  readonly #context: Context;
  readonly #inDoubt: InDoubt[] = [];
  readonly #unreadable: string[] = [];
  #finished = 0;
  #rolledBack = 0;
  #bytes = 0;
  #more = false;

  constructor(context: Context) {
    this.#context = context;
  }

  isFull(): boolean {
    return this.#inDoubt.length + this.#unreadable.length >= IN_DOUBT_PER_ANSWER || this.#bytes > REPLAY_BYTES;
  }

  isLate(): boolean {
    return this.#context.now() > this.#context.stopAtMs;
  }

  /** Notes what became of a branch; of one in doubt the mappings are replayed. */
  async add(recovered: Recovered): Promise<void> {
    switch (recovered.is) {
      case "nothing":
        return;
      case "finished":
        this.#finished++;
        return;
      case "rolled-back":
        this.#rolledBack++;
        return;
      case "left":
        this.#more = true;
        return;
      case "unreadable":
        this.#unreadable.push(recovered.xid);
        return;
      case "in-doubt": {
        const { branch, preparedAtMs } = recovered;
        const replayed = await replayItem(this.#context, branch, preparedAtMs, REPLAY_BYTES);
        if (replayed.is !== "replayed") return this.add(replayed);
        this.#inDoubt.push(replayed.inDoubt);
        this.#bytes += ENTRY_BYTES + Buffer.byteLength(JSON.stringify(replayed.inDoubt));
      }
    }
  }

  /** Everything was looked at. */
  whole(): Recovery {
    return {
      inDoubt: this.#inDoubt,
      finished: this.#finished,
      rolledBack: this.#rolledBack,
      unreadable: this.#unreadable,
      more: this.#more,
    };
  }

  /** The rest is left to a later call; with a place where that goes on. */
  partly(next?: Place): Recovery {
    return { ...this.whole(), more: true, ...(next !== undefined && { next }) };
  }
}
