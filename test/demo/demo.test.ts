import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const demo = fileURLToPath(new URL("../../demo/demo.ts", import.meta.url));
const shipped = fileURLToPath(new URL("../../demo/declaration-of-independence.txt", import.meta.url));

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "cairn-demo-test-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the demo with these arguments until it ends. */
const run = (...args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, [demo, ...args], { maxBuffer: 10_000_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });

const written = async (name: string, content: string | Uint8Array): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};

/** The checksums that the demo computed of what it sent and of what arrived. */
const checksums = (stdout: string) => [...stdout.matchAll(/^(sent|arrived) .* sha256 ([0-9a-f]{64})$/gm)];

function expectProved({ code, stdout, stderr }: Ended): void {
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("killed 3 times;");
  const [sent, arrived] = checksums(stdout);
  expect(sent?.[2]).toMatch(/^[0-9a-f]{64}$/);
  expect(arrived?.[2]).toBe(sent?.[2]);
  expect(stdout).toContain("proved: every line arrived exactly once and in order");
}

/** Bytes that are no text, the same every time. */
const garbage = Uint8Array.from({ length: 3_000 }, (_, i) => (i * 7919 + (i >> 3)) % 256);

/** CRLF, empty lines, lines that are equal, long ones, bytes that are no text, and no end of the last line. */
const awkward = Buffer.concat([
  Buffer.from("name,value\r\n\r\n\r\n"),
  Buffer.from("the same\n".repeat(30)),
  Buffer.from(`{"json": "line", "nul": "\u0000", "escape": "\\u0000"}\n`),
  Buffer.from(`${"long ü ".repeat(180_000)}\n`),
  Buffer.from("\u0001".repeat(700_000)),
  Buffer.from("\n\n"),
  garbage,
  Buffer.from("\nno end"),
]);

describe("the demo", () => {
  test("brings the shipped file through three kills", { timeout: 240_000 }, async () => {
    const ended = await run("--seed", "7", shipped);
    expectProved(ended);
    expect(ended.stdout).toContain("seed 7\n");
    expect(ended.stdout).toMatch(/233\/233 lines arrived, 233 moved, 233 sent, killed 3\/3/);
  });

  test("brings an awkward file through three kills", { timeout: 240_000 }, async () => {
    expectProved(await run("--seed", "8", await written("awkward.bin", awkward)));
  });

  test("proves an empty file too", { timeout: 240_000 }, async () => {
    const ended = await run("--seed", "9", await written("empty.txt", ""));
    expectProved(ended);
    expect(ended.stdout).toMatch(/^arrived {2}0 lines, 0 bytes/m);
  });

  test.each([
    ["a missing file", ["/nowhere/lines.txt"], "demo: cannot read /nowhere/lines.txt: there is no such file\n"],
    ["a folder", [tmpdir()], `demo: cannot read ${tmpdir()}: it is a folder\n`],
    ["two files", [shipped, shipped], "demo: one file at a time; --help says more\n"],
    [
      "a seed that is no number",
      ["--seed", "x", shipped],
      'demo: --seed must be a whole number from 0 to 4294967295, not "x"\n',
    ],
  ])("says of %s what is wrong, in one line", async (_, args, stderr) => {
    expect(await run(...args)).toEqual({ code: 1, stdout: "", stderr });
  });
});
