// Runs a script of this repository with everything it needs: `node local/setup.mjs <script> [arguments]`.
// Works on Node 18 and newer with nothing installed: missing dependencies come from the lockfile, Node 24 among them.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, "node_modules", ".bin");
const oldestNode = 24;

async function main([script, ...args]) {
  if (script === undefined) fail("usage: node local/setup.mjs <script> [arguments]");
  if (!isInstalled()) await installAlone();
  const env = {
    ...process.env,
    PATH: [bin, process.env.PATH].filter(Boolean).join(delimiter),
    // Compiled code is kept, which makes every start after the first a quarter of a second faster.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || join(root, "node_modules", ".cache", "node"),
    // The service ends with this process, `kill -9` included.
    CAIRN_PARENT: String(process.pid),
  };
  const child = spawn(findNode(), [join(root, script), ...args], { stdio: "inherit", env });
  follow(child);
}

/** Whether node_modules is what the lockfile says; npm keeps a list of what it put there. */
function isInstalled() {
  const installed = packagesIn(join(root, "node_modules", ".package-lock.json"));
  const wanted = packagesIn(join(root, "package-lock.json"));
  return Object.entries(wanted ?? {}).every(([path, { version, integrity, optional }]) => {
    const found = installed?.[path];
    // Optional ones are for other platforms, mostly.
    if (path === "" || (found === undefined && optional && installed)) return true;
    return found?.version === version && found?.integrity === integrity;
  });
}

function packagesIn(lockfile) {
  try {
    return JSON.parse(readFileSync(lockfile, "utf8")).packages;
  } catch {
    return undefined;
  }
}

/** Two that start at once would delete each other's files: the second waits for the first. */
async function installAlone() {
  const folder = join(root, ".cairn");
  const lock = join(folder, "setup.lock");
  mkdirSync(folder, { recursive: true });
  while (!(await take(lock))) {
    await sleep(200);
    if (isInstalled()) return;
  }
  try {
    if (!isInstalled()) await install();
  } finally {
    rmSync(lock, { force: true });
    removeIfEmpty(folder);
  }
}

/** Takes the lock unless a living process has it. */
async function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
  } catch (error) {
    if (error.code !== "EEXIST") fail(`cannot write to ${dirname(lock)}: ${error.message}`);
    if (!isAbandoned(lock)) return false;
    rmSync(lock, { force: true });
    return false;
  }
  // Someone who saw the same abandoned lock may have removed this one instead.
  await sleep(50);
  return readOr(lock, "") === String(process.pid);
}

function isAbandoned(lock) {
  const holder = Number(readOr(lock, "0"));
  // Written in two steps: it may be empty for a moment.
  if (holder === 0) return false;
  try {
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

async function install() {
  process.stderr.write("installing dependencies…\n");
  const npm = process.env.npm_execpath?.endsWith(".js")
    ? [process.execPath, process.env.npm_execpath]
    : [process.platform === "win32" ? "npm.cmd" : "npm"];
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--include=dev", "--include=optional"];
  const child = spawn(npm[0], [...npm.slice(1), ...args], { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  const forward = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  let complaint = "";
  child.stderr.on("data", (chunk) => {
    complaint = (complaint + chunk).slice(-4000);
  });
  const ended = await new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  for (const signal of signals) process.off(signal, forward);
  if (ended === 0) return;
  rmSync(join(root, ".cairn", "setup.lock"), { force: true });
  process.stderr.write(complaint);
  fail(`the dependencies could not be installed (npm ci: ${ended})`);
}

function findNode() {
  if (Number.parseInt(process.versions.node, 10) >= oldestNode) return process.execPath;
  const packaged = join(root, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
  if (existsSync(packaged)) return packaged;
  return fail(
    `Cairn needs Node ${oldestNode} or newer, this is ${process.version}: install it from https://nodejs.org`,
  );
}

// Not SIGHUP: whoever listens to it takes away what `nohup` has arranged.
const signals = ["SIGINT", "SIGTERM"];

/** Signals go to the child, its end is this process's end. */
function follow(child) {
  const forward = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  child.once("error", (error) => fail(error.message));
  child.once("exit", (code, signal) => {
    for (const each of signals) process.off(each, forward);
    if (signal === null) process.exit(code ?? 1);
    process.kill(process.pid, signal);
    // SIGKILL aside, the signal arrives a little later; should it be ignored, this ends the process anyway.
    setTimeout(() => process.exit(1), 100);
  });
  endWithNpm(child);
}

/** npm passes SIGINT and SIGTERM on to its shell, which passes nothing on, and can do neither for its own `kill -9`. */
function endWithNpm(child) {
  if (process.env.npm_lifecycle_event === undefined) return;
  // Between npm and this process there is a shell, unless the script says `exec`.
  const viaShell = /^(ba|da|z)?sh$/.test(readOr(`/proc/${process.ppid}/comm`, "").trim());
  const ancestors = () => `${process.ppid} ${viaShell ? parentOf(process.ppid) : ""}`;
  const before = ancestors();
  const watch = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, 100);
}

/** Known on Linux only. */
function parentOf(pid) {
  const stat = readOr(`/proc/${pid}/stat`, "");
  // The name before it stands in parentheses and may hold anything.
  return stat.slice(stat.lastIndexOf(")") + 1).split(" ")[2];
}

function readOr(file, otherwise) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return otherwise;
  }
}

function removeIfEmpty(folder) {
  try {
    rmdirSync(folder);
  } catch {
    // It holds a service's data.
  }
}

function fail(line) {
  process.stderr.write(`cairn: ${line}\n`);
  process.exit(1);
}

await main(process.argv.slice(2));
