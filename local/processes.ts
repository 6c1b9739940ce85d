import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Whether the process runs (a zombie does not) and, with `naming`, has that text in its command line. */
export function isAlive(pid: number, naming?: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const [state, command] = describe(pid);
  return state !== "Z" && state !== "" && (naming === undefined || command.includes(naming));
}

/** SIGKILL to all of them in one go; resolves when none is left. Those already gone are no error. */
export async function endProcesses(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It went by itself in between.
    }
  }
  while (pids.some((pid) => isAlive(pid))) await sleep(5);
}

/** State letter and command line; empty when the process is gone. */
function describe(pid: number): readonly [string, string] {
  if (process.platform === "linux") {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The name stands in parentheses and may hold anything, so the state is looked for behind the last one.
      const state = stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
      return [state === "X" ? "Z" : state, readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")];
    } catch {
      return ["", ""];
    }
  }
  try {
    const line = execFileSync("ps", ["-o", "stat=,args=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return [line.slice(0, 1), line.slice(line.indexOf(" ") + 1)];
  } catch {
    return ["", ""];
  }
}
