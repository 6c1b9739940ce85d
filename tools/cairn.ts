/** The operator's command line: `npm run -s cairn -- store …`. */
import { storeCommand } from "./store/command.ts";
import { Failure } from "./store/failure.ts";
import { helpText } from "./store/help.ts";

const [area, ...args] = process.argv.slice(2);
try {
  if (area === undefined || ["--help", "-h", "help"].includes(area)) {
    process.stdout.write(helpText);
    if (area === undefined) process.exitCode = 1;
  } else if (area === "store") {
    process.exitCode = await storeCommand(args, process.env);
  } else {
    throw new Failure([`unknown command ${area}`], { withHelp: true });
  }
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  process.stderr.write(error.lines.map((line) => `cairn: ${line}\n`).join(""));
  if (error.withHelp) process.stderr.write(`\n${helpText}`);
  process.exitCode = 1;
}
