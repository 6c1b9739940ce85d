import { parseArgs } from "node:util";
import { measureCapacity } from "./capacity.ts";

const helpText = `Usage: npm run bench
       npm run bench -- --capacity

Without an option: throughput and latency of the service on this machine.
--capacity: what each kind of work costs in table capacity and in table calls, beside its ceiling;
exit code 1 when one is not met. It does not depend on time.
`;
const { values } = parseArgs({ options: { capacity: { type: "boolean" }, help: { type: "boolean", short: "h" } } });
if (values.help) process.stdout.write(helpText);
else process.exit((await measureCapacity((line) => process.stdout.write(`${line}\n`))) ? 0 : 1);
