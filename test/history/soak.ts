/** `npm run soak -- --minutes 5 --seed 1`: exit code 0 when the history shows no anomaly, 1 when it does, 2 when it cannot run. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { toLines } from "./history.ts";
import { runSoak } from "./run-soak.ts";
import { report, summaryOf } from "./verdict.ts";

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const usage = "usage: npm run soak -- --minutes <number> --seed <whole number>";

const settings = () => {
  const options = {
    minutes: { type: "string", default: "5" },
    seed: { type: "string" },
    help: { type: "boolean", default: false },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help) {
    say(usage);
    process.exit(0);
  }
  const minutes = Number(values.minutes);
  const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed);
  if (!(minutes > 0)) throw new Error(`--minutes must be a number above 0, not "${values.minutes}"`);
  if (!Number.isSafeInteger(seed)) throw new Error(`--seed must be a whole number, not "${values.seed}"`);
  return { minutes, seed };
};

const settingsOrExit = () => {
  try {
    return settings();
  } catch (error) {
    process.stderr.write(`soak: ${error instanceof Error ? error.message : String(error)}\n${usage}\n`);
    process.exit(2);
  }
};

const { minutes, seed } = settingsOrExit();
say(`soak: ${minutes} minutes, seed ${seed}`);
const { entries, anomalies } = await runSoak({ seconds: minutes * 60, seed, log: say });
say(
  Object.entries(summaryOf(entries))
    .map(([what, n]) => `${what} ${n}`)
    .join(", "),
);
if (anomalies.length === 0) say("no anomaly");
else {
  const file = join(await mkdtemp(join(tmpdir(), "cairn-soak-")), "history.jsonl");
  await writeFile(file, toLines(entries));
  say(`${report(anomalies)}${anomalies.length} anomalies, seed ${seed}; the whole history: ${file}`);
}
process.exitCode = anomalies.length === 0 ? 0 : 1;
