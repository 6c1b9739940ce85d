import type { InProcessService } from "../support/in-process.ts";
import type { Row, Stage } from "./late.ts";

/** Two processes on a table without records. */
export const newStage = async (service: InProcessService): Promise<Stage> => {
  const table = await service.newTable();
  const [late, others] = [await service.process("late"), await service.process("others")];
  await Promise.all([late.restart(table), others.restart(table)]);
  return { late: late.client, others: others.client, wait: service.wait };
};

/** Rows by their names, as a table of tests takes them. */
export const named = (rows: readonly Row[]): readonly (readonly [string, Row])[] =>
  rows.map((row) => [`${row.route} ${row.how}`, row]);
