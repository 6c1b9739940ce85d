import type { Entry } from "./history.ts";

/** What a history may show that no order of its calls explains. */
export type AnomalyName =
  | "lost"
  | "invented"
  | "doubled"
  | "reordered"
  | "torn branch"
  | "torn publish"
  | "two outcomes"
  | "prepared, then decided by nobody"
  | "accept that came back"
  | "reject that came back"
  | "dead without a cause"
  | "newer dropped before older"
  | "limit that was passed"
  | "refused without a cause"
  | "depth that a drain contradicts"
  | "counter that went back"
  | "counter that runs behind"
  | "old epoch that was let through"
  | "command that never completed"
  | "command that completed twice"
  | "completion that was passed over"
  | "command id that was given twice";

export interface Anomaly {
  readonly name: AnomalyName;
  readonly says: string;
  /** The entries that show it, and no more. */
  readonly slice: readonly Entry[];
}

/** Entries as they were recorded, each once. */
export const inOrder = (...entries: readonly (Entry | undefined)[]): readonly Entry[] =>
  [...new Set(entries.flatMap((entry) => entry ?? []))].toSorted((a, b) => a.n - b.n);
