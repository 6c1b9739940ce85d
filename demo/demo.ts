import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { KILLS, type Run, start } from "./run.ts";

const shipped = fileURLToPath(new URL("declaration-of-independence.txt", import.meta.url));
/** What the demo keeps in memory, several times over. */
const MOST_BYTES = 128 * 1024 * 1024;
const SEEDS = 2 ** 32;
/** The exit code of what Ctrl-C has ended. */
const INTERRUPTED = 130;

const helpText = `Usage: npm run demo -- [--seed N] <file>

Sends the lines of a file (text, CSV, JSON lines, anything) through two queues in branches of
50, kills the whole service ${KILLS} times in the middle of it, recovers, and proves that every line
arrived exactly once and in order. Without a file it takes demo/declaration-of-independence.txt.

  --seed N   kills at the same calls as the run that printed this seed
`;

async function main(): Promise<number> {
  const { file, seed } = readArguments();
  const bytes = readFile(file);
  process.stdout.write(`${file}: ${bytes.length} bytes, seed ${seed}\n`);
  const run = start(bytes, seed);
  let abandoning: Promise<void> | undefined;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      abandoning ??= run.abandon();
    });
  }
  try {
    return await conclude(run);
  } catch (error) {
    if (abandoning === undefined) throw error;
    await abandoning;
    return INTERRUPTED;
  }
}

async function conclude(run: Run): Promise<number> {
  const { isProved, report } = await run.done;
  for (const line of report) process.stdout.write(`${line}\n`);
  process.stdout.write(
    isProved ? "proved: every line arrived exactly once and in order\n" : "NOT proved: see the counts above\n",
  );
  return isProved ? 0 : 1;
}

function readArguments(): { readonly file: string; readonly seed: number } {
  const { values, positionals } = parseArgs({
    options: { seed: { type: "string" }, help: { type: "boolean", short: "h" } },
    allowPositionals: true,
  });
  if (values.help === true) {
    process.stdout.write(helpText);
    process.exit(0);
  }
  if (positionals.length > 1) throw new Error("one file at a time; --help says more");
  const seed = values.seed === undefined ? randomInt(SEEDS) : Number(values.seed || Number.NaN);
  if (!Number.isInteger(seed) || seed < 0 || seed >= SEEDS) {
    throw new Error(`--seed must be a whole number from 0 to ${SEEDS - 1}, not "${values.seed}"`);
  }
  return { file: positionals[0] ?? shipped, seed };
}

function readFile(path: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      ENOENT: "there is no such file",
      EISDIR: "it is a folder",
      EACCES: "it may not be read",
    };
    throw new Error(`cannot read ${path}: ${reasons[code ?? ""] ?? message}`);
  }
  if (bytes.length > MOST_BYTES) throw new Error(`${path} is larger than ${MOST_BYTES / 1024 / 1024} MiB`);
  return bytes;
}

try {
  process.exit(await main());
} catch (error) {
  const [line] = (error instanceof Error ? error.message : String(error)).split("\n");
  process.stderr.write(`demo: ${line}\n`);
  process.exit(1);
}
