import { capacityRows, type Figure, isMet } from "./capacity-rows.ts";
import { startCapacityService } from "./capacity-service.ts";
import { stopOnInterrupt } from "./interrupt.ts";

/** Measures every row and prints it beside its ceiling; answers whether all are met. */
export const measureCapacity = async (print: (line: string) => void): Promise<boolean> => {
  const service = await startCapacityService();
  const stop = stopOnInterrupt(service.stop);
  const missed: string[] = [];
  try {
    for (const row of capacityRows) {
      print(row.name);
      for (const figure of await row.measure(service)) {
        print(lineOf(figure));
        if (!isMet(figure)) missed.push(`${row.name}: ${figure.of}`);
      }
    }
  } finally {
    await stop();
  }
  print(missed.length === 0 ? "every ceiling is met" : `missed: ${missed.join("; ")}`);
  return missed.length === 0;
};

const lineOf = (figure: Figure): string => {
  const { of, measured, ceiling } = figure;
  const limit = ceiling === undefined ? "" : `at most ${numberText(ceiling)}`;
  const verdict = ceiling === undefined ? "" : isMet(figure) ? "met" : "MISSED";
  return `  ${of.padEnd(52)}${numberText(measured).padStart(8)}  ${limit.padEnd(16)}${verdict}`.trimEnd();
};

const numberText = (value: number): string =>
  Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 1 ? 3 : 2);
