import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startService } from "../../local/service.ts";
import { memberDocument } from "../../shared/domain/store-document.ts";
import type { Member } from "../../shared/domain/store-status.ts";
import { storeKey } from "../../shared/records/keys.ts";
import { readStore } from "../../shared/records/store.ts";
import type { Item } from "../../shared/records/write.ts";
import { client } from "../support/client.ts";
import { expectOk } from "../support/moves.ts";
import { runCairn, useCommandLine } from "./cairn.ts";

const line = useCommandLine();

const recordOf = async (table: string) => readStore(await line.store(table).read(storeKey));

const statusOf = async (table: string) => {
  const { code, out } = await runCairn(["store", "status", "--json"], {
    CAIRN_TABLE: table,
    DYNAMODB_ENDPOINT: line.endpoint,
  });
  expect(code).toBe(0);
  return JSON.parse(out);
};

describe("cairn store status and export", () => {
  it("say what the store says, where the environment or the call says it is", async () => {
    await line.table("told-table", { next: 3, settled: 1 });
    const status = await statusOf("told-table");
    expect(status).toMatchObject({
      changeCounter: "4",
      state: "dirty",
      storeId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const file = join(line.folder, "told.json");
    const at = ["--table", "told-table", "--endpoint", line.endpoint];
    expect(await runCairn(["store", "export", file, ...at])).toEqual({ code: 0, out: "", err: "" });
    const { readAt: _, ...exported } = JSON.parse(await readFile(file, "utf8"));
    expect(status).toMatchObject(exported);
    expect(JSON.parse((await runCairn(["store", "export", ...at])).out)).toMatchObject(exported);
    const { out } = await runCairn(["store", "status", ...at]);
    expect(out).toMatch(/^storeId +[0-9a-f-]{36}\nclusterId +-\nchangeCounter +4\n/);
    expect((await runCairn(["store", "identify", file, `table:told-table@${line.endpoint}`, "--json"])).code).toBe(0);
  });

  it("say what they cannot do", async () => {
    const at = ["--table", "told-table", "--endpoint", line.endpoint];
    const cannot = async (args: readonly string[], words: string) =>
      expect(await runCairn(args)).toEqual({ code: 1, out: "", err: expect.stringContaining(words) });
    await cannot(["store", "export", join(line.folder, "no", "folder.json"), ...at], "folder.json cannot be written");
    await cannot(
      ["store", "status", "--table", "no-such", "--endpoint", line.endpoint],
      "table no-such: there is no such table",
    );
    const env = { CAIRN_DATA: join(line.folder, "nothing") };
    expect(await runCairn(["store", "status"], env)).toMatchObject({
      code: 1,
      err: expect.stringContaining(env.CAIRN_DATA),
    });
  });

  it("work on the folder of a local service, running or not", async () => {
    const dataDir = await mkdtemp(join(line.folder, "service-"));
    const env = { CAIRN_DATA: dataDir };
    const service = await startService({ dataDir, env: { DYNAMODB_ENDPOINT: "", SQS_ENDPOINT: "" } });
    const running = await (async () => {
      try {
        const c = client(service.baseUrl);
        await c.declare("orders");
        await c.enqueue("orders", [{ body: "one" }]);
        const asked = expectOk(await c.storeStatus());
        const { out } = await runCairn(["store", "status", "--json"], env);
        expect({ ...JSON.parse(out), readAt: asked.readAt }).toEqual(asked);
        return asked;
      } finally {
        await service.stop();
      }
    })();
    const stopped = await runCairn(["store", "status", "--json"], env);
    expect({ ...JSON.parse(stopped.out), readAt: running.readAt }).toEqual(running);
    expect(await runCairn(["store", "identify", "table:cairn"], env)).toMatchObject({ code: 0 });
  }, 120_000);
});

const members: readonly Member[] = [
  { storeId: "p", table: "primary-table", role: "primary", state: "in-sync" },
  { storeId: "r", table: "replica-table", role: "replica", state: "in-sync", told: 5n },
  { storeId: "j", table: "joining-table", role: "replica", state: "joining" },
];

const configured = (id: string, of: readonly Member[] = members): Item => ({
  id,
  cl: "c",
  cc: "5",
  ci: "i",
  cp: "2",
  role: id === "r" ? "replica" : "primary",
  ms: JSON.stringify(of.map(memberDocument)),
  rt: 60,
});

const shutdown = (more: readonly string[] = []) =>
  runCairn(["store", "shutdown", "--table", "primary-table", "--endpoint", line.endpoint, ...more]);

describe("cairn store shutdown", () => {
  it("makes a store in no cluster clean, until its counter moves", async () => {
    await line.table("alone-table", { next: 3 });
    const { code, out } = await runCairn([
      "store",
      "shutdown",
      "--json",
      "--table",
      "alone-table",
      "--endpoint",
      line.endpoint,
    ]);
    const { shutdownId, stores, leftOut } = JSON.parse(out);
    expect([code, leftOut, stores]).toEqual([0, [], [{ storeId: expect.any(String), changeCounter: "3" }]]);
    expect(await statusOf("alone-table")).toMatchObject({ state: "clean", shutdownId, changeCounterAtShutdown: "3" });
    const write = { kind: "update", key: storeKey, require: [], otherwise: "reload" } as const;
    await line.store("alone-table").commit([{ ...write, change: { add: [[["next"], 1]] } }]);
    expect(await statusOf("alone-table")).toMatchObject({ state: "dirty", shutdownId, changeCounterAtShutdown: "3" });
  });

  it("marks all members in sync with one id and each one's counter; then they are equal", async () => {
    const one = await line.table("primary-table", configured("p"), [{ pk: "TAIL#00", sk: "q#g#0", next: 9 }]);
    const two = await line.table("replica-table", configured("r"), [{ pk: "REPLICA#CHANGES", sk: "00", n: 9 }]);
    const { code, out } = await shutdown();
    const { shutdown: primary } = await recordOf("primary-table");
    expect(primary).toMatchObject({ changeCounter: 9n });
    expect((await recordOf("replica-table")).shutdown).toEqual(primary);
    expect([code, out]).toEqual([
      0,
      `shutdown ${primary?.shutdownId}\np is clean at 9\nr is clean at 9\nj was left out\n`,
    ]);
    const { out: chosen } = await runCairn(["store", "identify", one, two, "--json"]);
    expect(JSON.parse(chosen)).toMatchObject({ best: "p", equal: ["p", "r"] });
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      "is not reached",
      () =>
        line.table(
          "primary-table",
          configured("p", [...members.slice(0, 1), { ...members[1], table: "gone-table" } as Member]),
        ),
      "member r (table gone-table) cannot be reached",
    ],
    [
      "is not where its table is",
      () => line.table("replica-table", { ...configured("r"), id: "another" }),
      "member r (table replica-table) is not there: the table holds another",
    ],
    [
      "has another configuration",
      () => line.table("replica-table", { ...configured("r"), ci: "older" }),
      "member r (table replica-table) has another configuration",
    ],
  ])("refuses when a member %s, and marks none", async (_, spoil, words) => {
    await line.table("primary-table", configured("p"));
    await line.table("replica-table", configured("r"));
    await spoil();
    const { code, out, err } = await shutdown();
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(words);
    expect([(await recordOf("primary-table")).shutdown, (await recordOf("replica-table")).shutdown]).toEqual([
      null,
      null,
    ]);
    const without = await shutdown(["--without", "r"]);
    expect(without).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^shutdown .*\np is clean at \d+\nr was left out\n/),
    });
    expect((await recordOf("replica-table")).shutdown).toBeNull();
  });

  it("knows whom it is told to do without", async () => {
    await line.table("primary-table", configured("p"));
    const { code, err } = await shutdown(["--without", "x", "--without", "p"]);
    expect([code, err]).toEqual([
      1,
      "cairn: x is not another member of the cluster\ncairn: p is not another member of the cluster\n",
    ]);
  });
});
