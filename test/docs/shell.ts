import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { eventually } from "../support/poll.ts";

/** A shell with job control in the repository's root: what is typed there behaves as in a terminal. */
export interface Shell {
  /** Types one command and answers what it wrote; a command in the background has written `until` by then. */
  type(command: string, until?: string): Promise<string>;
  /** Kills what still runs in the background, and the shell. */
  end(): Promise<void>;
}

export async function startShell(env: Readonly<Record<string, string>>): Promise<Shell> {
  const folder = await mkdtemp(join(tmpdir(), "cairn-shell-"));
  const child = spawn("bash", ["--noprofile", "--norc"], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let marks = "";
  child.stdout.on("data", (chunk: Buffer) => {
    marks += chunk.toString();
  });
  child.stdin.write("set -m\n");
  let typed = 0;
  return {
    async type(command, until) {
      typed += 1;
      const file = join(folder, String(typed));
      // What is in braces runs in this shell itself, so variables and jobs stay.
      child.stdin.write(`{ ${command}\n} >"${file}" 2>&1\necho "done:${typed}"\n`);
      return eventually(
        async () => {
          expect(marks).toContain(`done:${typed}\n`);
          const written = await readFile(file, "utf8");
          expect(written).toContain(until ?? "");
          return written;
        },
        { withinMs: 30_000 },
      );
    },
    async end() {
      child.stdin.end("for job in $(jobs -p); do kill -9 -- -$job; done\n");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
