import { parseArgs } from "node:util";
import { measureCapacity } from "./capacity.ts";
import { measureSpeed } from "./speed.ts";

const helpText = `Usage: npm run bench
       npm run bench -- --capacity

Without an option: throughput and latency on this machine, beside a plain put into the same table.
It takes about half a minute; close what else is running.

  --capacity   what each kind of work costs in table capacity and in table calls, from the receipts
               of real calls, beside its ceiling; exit code 1 when one is not met. It does not depend
               on time.

Both start their own service with temporary data. With DYNAMODB_ENDPOINT (see npm start -- --help)
they measure that table.
`;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { capacity: { type: "boolean" }, help: { type: "boolean", short: "h" } } });
  if (values.help === true) {
    print(helpText.trimEnd());
    return 0;
  }
  if (values.capacity === true) return (await measureCapacity(print)) ? 0 : 1;
  await measureSpeed(print);
  return 0;
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
