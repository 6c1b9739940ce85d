import { type ChildProcess, spawn } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { isAlive } from "../../local/processes.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
let clone = "";

/** A bare clone with one package in its lockfile, and an npm that notes its calls and installs that. */
beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), "cairn-setup-"));
  await mkdir(join(clone, "local"));
  await mkdir(join(clone, "bin"));
  await copyFile(join(repository, "local/setup.mjs"), join(clone, "local/setup.mjs"));
  await writeFile(join(clone, "package-lock.json"), lockfile("1.0.0"));
  await writeFile(
    join(clone, "script.mjs"),
    "console.log(JSON.stringify([process.argv.slice(2), process.env.PATH])); process.exitCode = 7;",
  );
  await fakeNpm("sleep 0.3; mkdir -p node_modules; cp package-lock.json node_modules/.package-lock.json");
});
afterEach(() => rm(clone, { recursive: true, force: true }));

test("installs what is missing once, though two start at once, and then no more", async () => {
  const both = await Promise.all([setUp(["script.mjs", "a", "b c"]), setUp(["script.mjs"])]);
  expect(both.map(({ code }) => code)).toEqual([7, 7]);
  expect(JSON.parse(both[0].stdout)[0]).toEqual(["a", "b c"]);
  expect(JSON.parse(both[0].stdout)[1].split(delimiter)[0]).toBe(join(clone, "node_modules/.bin"));
  expect(both.map(({ stderr }) => stderr).sort()).toEqual(["", "installing dependencies…\n"]);
  expect((await setUp(["script.mjs"])).stderr).toBe("");
  expect(await npmCalls()).toHaveLength(1);
  expect((await npmCalls())[0]).toMatch(/^ci /);
});

test("installs again when the lockfile has changed", async () => {
  await setUp(["script.mjs"]);
  await writeFile(join(clone, "package-lock.json"), lockfile("1.0.1"));
  await setUp(["script.mjs"]);
  expect(await npmCalls()).toHaveLength(2);
});

test("takes over from a set-up that was killed", async () => {
  await mkdir(join(clone, ".cairn"));
  await writeFile(join(clone, ".cairn/setup.lock"), "999999999");
  expect((await setUp(["script.mjs"])).code).toBe(7);
});

test("says in one line that the installation failed, after npm's own words", async () => {
  await fakeNpm("echo 'npm error network' >&2; exit 3");
  const { code, stdout, stderr } = await setUp(["script.mjs"]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(
    "installing dependencies…\nnpm error network\ncairn: the dependencies could not be installed (npm ci: 3)\n",
  );
});

test.each(["SIGINT", "SIGTERM"] as const)("passes %s on and ends as the script does", async (signal) => {
  await writeFile(
    join(clone, "script.mjs"),
    `process.on("${signal}", () => process.exit(5)); setInterval(() => {}, 99); console.log("up");`,
  );
  const child = launch(["script.mjs"]);
  const ended = end(child);
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  child.kill(signal);
  expect((await ended).code).toBe(5);
});

test("ends by the signal that ended the script", async () => {
  await writeFile(join(clone, "script.mjs"), 'process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 99);');
  expect(await end(launch(["script.mjs"]))).toMatchObject({ code: null, signal: "SIGTERM" });
});

test("a start that npm made ends with npm, kill -9 included", async () => {
  await writeFile(join(clone, "script.mjs"), "console.log(process.pid); setInterval(() => {}, 99);");
  await setUpOnce();
  const npm = spawn("/bin/sh", ["-c", `"$@" & wait`, "sh", process.execPath, "local/setup.mjs", "script.mjs"], {
    cwd: clone,
    env: { ...environment(), npm_lifecycle_event: "start" },
  });
  const pid = await new Promise<number>((resolve) => npm.stdout.once("data", (text) => resolve(Number(text))));
  onTestFinished(() => void (isAlive(pid) && process.kill(pid, "SIGKILL")));
  npm.kill("SIGKILL");
  await expect.poll(() => isAlive(pid), { timeout: 3_000 }).toBe(false);
});

interface Run {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

const setUp = (args: readonly string[]): Promise<Run> => end(launch(args));

function launch(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [join(clone, "local/setup.mjs"), ...args], { cwd: clone, env: environment() });
}

/** Without what the npm that runs these tests says of itself. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"));
  return { ...Object.fromEntries(own), PATH: [join(clone, "bin"), process.env.PATH].join(delimiter) };
}

function end(child: ChildProcess): Promise<Run> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr })));
}

async function setUpOnce(): Promise<void> {
  await mkdir(join(clone, "node_modules"));
  await copyFile(join(clone, "package-lock.json"), join(clone, "node_modules/.package-lock.json"));
}

async function fakeNpm(script: string): Promise<void> {
  const file = join(clone, "bin/npm");
  await writeFile(file, `#!/bin/sh\necho "$@" >>"${dirname(file)}/calls"\n${script}\n`);
  await chmod(file, 0o755);
}

async function npmCalls(): Promise<readonly string[]> {
  return (await readFile(join(clone, "bin/calls"), "utf8")).trim().split("\n");
}

function lockfile(version: string): string {
  const packages = {
    "": { name: "clone" },
    "node_modules/a": { version, integrity: `sha512-${version}` },
    "node_modules/for-another-platform": { version: "1.0.0", integrity: "sha512-x", optional: true },
  };
  return JSON.stringify({ lockfileVersion: 3, packages });
}
