import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../local/free-port.ts";
import { endProcesses } from "../../local/processes.ts";
import { tableEnginePids } from "../../local/table-engine.ts";
import { client } from "../support/client.ts";
import { enqueueBodies, expectOk, expectXa } from "../support/moves.ts";
import { page, section } from "./markdown.ts";
import { type Shell, startShell } from "./shell.ts";
import { answerOf, stepsOf } from "./steps.ts";

const operating = page("docs/operating.md");
const xid = "1.6f7264657273.01";

/** What the page calls it, and what this run does. */
const names = new Map<string, string>();
let dataDir = "";
let shell: Shell;
let url = "";

beforeAll(async () => {
  const port = String(await freePort());
  url = `http://127.0.0.1:${port}`;
  dataDir = await mkdtemp(join(tmpdir(), "cairn-operating-"));
  names.set("127.0.0.1:8080", `127.0.0.1:${port}`);
  names.set("copy.json", join(dataDir, "one.json"));
  names.set("far.json", join(dataDir, "two.json"));
  shell = await startShell({ CAIRN_DATA: dataDir, PORT: port, cairn: url });
});

afterAll(async () => {
  await shell.end();
  await endProcesses(tableEnginePids(dataDir));
  await rm(dataDir, { recursive: true, force: true });
});

it("the page for 3 a.m. brings back what was completed, on the replica that it chooses", {
  timeout: 240_000,
}, async () => {
  await follow("A cluster");
  const c = client(url);
  await c.declare("orders");
  await enqueueBodies(c, "orders", ["one", "two"]);
  const billing = await c.attached("billing");
  expectXa(await billing.start(xid, { timeoutSeconds: 600 }), "XA_OK");
  await enqueueBodies(billing.within(xid), "orders", ["three"]);
  expectXa(await billing.end(xid), "XA_OK");
  expectXa(await c.prepare(xid), "XA_OK");

  await shell.type("kill -9 %1");
  await follow("Everything is lost");
  expectXa(await c.commit(xid), "XA_OK");
  const { messages } = expectOk(await c.browse("orders", { limit: 10 }));
  expect(messages.map(({ body }) => body)).toEqual(["one", "two", "three"]);

  await shell.type("kill %2; wait %2");
  await follow("Shutting down", "--table copy");
});

/** Types what a section says, and compares what is answered. `more`: what this run must say besides. */
async function follow(heading: string, more = ""): Promise<void> {
  for (const { command, says = "" } of stepsOf(section(operating, heading), speaks)) {
    const isStart = command.endsWith("npm start &");
    const said = there(await shell.type(`${here(command)} ${more}`, isStart ? here(says) : undefined));
    if (says.startsWith("{")) {
      expect(answerOf(said), command).toMatchObject(answerOf(says.replaceAll(/,?…/g, "")) as object);
    } else for (const part of says.split("…")) expect(said, command).toContain(part.trim());
  }
}

const speaks = (command: string): boolean => /^(curl|npm run|CAIRN_\w+=.* npm start)/.test(command);

const here = (text: string) => [...names].reduce((changed, [its, own]) => changed.replaceAll(its, own), text);
const there = (text: string) => [...names].reduce((changed, [its, own]) => changed.replaceAll(own, its), text);
