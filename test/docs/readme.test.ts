import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../local/free-port.ts";
import { endProcesses } from "../../local/processes.ts";
import { helpText } from "../../local/settings.ts";
import { tableEnginePids } from "../../local/table-engine.ts";
import { unique } from "../support/names.ts";
import { page, section, tableRows } from "./markdown.ts";
import { type Shell, startShell } from "./shell.ts";
import { answerOf, stepsOf } from "./steps.ts";

const readme = page("README.md");

describe("the README's story", () => {
  /** What the page calls it, and what this run does: the suite may share its table with other runs. */
  const names = new Map<string, string>();
  let dataDir = "";
  let shell: Shell;

  beforeAll(async () => {
    const port = String(await freePort());
    names.set("127.0.0.1:8080", `127.0.0.1:${port}`);
    names.set("orders", unique("orders"));
    names.set("billing", unique("billing"));
    names.set("6f7264657273", Buffer.from(unique("x")).toString("hex"));
    dataDir = await mkdtemp(join(tmpdir(), "cairn-readme-"));
    shell = await startShell({ CAIRN_DATA: dataDir, PORT: port });
  });

  afterAll(async () => {
    await shell.end();
    await endProcesses(tableEnginePids(dataDir));
    await rm(dataDir, { recursive: true, force: true });
  });

  const here = (text: string) => [...names].reduce((changed, [there, own]) => changed.replaceAll(there, own), text);
  const there = (text: string) => [...names].reduce((changed, [its, own]) => changed.replaceAll(own, its), text);

  it("is answered as the page says, the kill included", { timeout: 120_000 }, async () => {
    const steps = stepsOf(section(readme, "The story"), speaks);
    expect(steps.filter(({ command, says }) => speaks(command) && says === undefined)).toEqual([]);
    expect(steps.map(({ command }) => command)).toContain("kill -9 %1");
    for (const { command, says = "" } of steps) {
      const isStart = command === "npm start &";
      const said = there(await shell.type(here(command), isStart ? here(says) : undefined));
      if (says.startsWith("{")) expect(answerOf(said), command).toEqual(expected(says));
      else expect(said, command).toContain(says);
    }
  });
});

describe("the README", () => {
  it("names the settings that the service has", () => {
    const variables = tableRows(section(readme, "Settings")).slice(1);
    const inHelp = [...helpText.matchAll(/^ {2}([A-Z_]+) {2,}/gm)].map(([, name]) => name);
    expect(variables.map(([name]) => name)).toEqual(inHelp);
  });

  it("names commands, folders and files that there are", () => {
    const { scripts } = JSON.parse(page("package.json")) as { scripts: Record<string, string> };
    const commands = tableRows(section(readme, "Commands")).slice(1);
    for (const [command = ""] of commands) {
      expect(Object.keys(scripts), command).toContain(/^npm (?:run )?(\w+)/.exec(command)?.[1]);
    }
    const places = tableRows(section(readme, "Where to find what")).slice(1);
    const linked = [...readme.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, path]) => path);
    for (const path of [...places.flatMap(([folders = ""]) => folders.split(", ")), ...linked]) {
      expect(existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url))), path).toBe(true);
    }
  });
});

const speaks = (command: string): boolean => /^(curl|npm start)/.test(command);

/** The JSON of an answer, its times left open, and of a list of branches only the story's. */
function branchesOf(text: string): unknown {
  const answer = answerOf(text) as { branches?: { xid: string }[] };
  const { branches } = answer;
  return branches === undefined
    ? answer
    : { ...answer, branches: branches.filter(({ xid }) => xid.includes("6f7264657273")) };
}

/** The JSON of the page; with `…` in it an answer may say more. */
function expected(says: string): unknown {
  const said = branchesOf(says.replaceAll(/,?…/g, "")) as object;
  return says.includes("…") ? expect.objectContaining(said) : said;
}
