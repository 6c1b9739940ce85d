import { branchRows } from "./branch-rows.ts";
import type { CapacityService } from "./capacity-service.ts";
import { messageRows } from "./message-rows.ts";
import { modeRows } from "./mode-rows.ts";
import { sequenceRows } from "./sequence-rows.ts";

/** One number of a row beside the most that it may be; without a ceiling it is told for comparison only. */
export interface Figure {
  readonly of: string;
  readonly measured: number;
  readonly ceiling?: number;
}

/** A row of the cost table: its name there, and how it is measured. */
export interface Row {
  readonly name: string;
  measure(service: CapacityService): Promise<readonly Figure[]>;
}

/** Every row of the cost table, in its order, and what each mode of durability costs. */
export const capacityRows: readonly Row[] = [...messageRows, ...branchRows, ...sequenceRows, ...modeRows];

/** What the table reports are halves; sums and quotients of them may be off by a rounding error. */
export const isMet = ({ measured, ceiling }: Figure): boolean => ceiling === undefined || measured <= ceiling + 1e-9;
