import { describe, expect, it } from "vitest";
import { statusDocument } from "../../shared/domain/store-document.ts";
import { member, shutDown, status } from "../domain/store-statuses.ts";
import { runCairn, useCommandLine } from "./cairn.ts";

const line = useCommandLine();

const exported = async (of: Parameters<typeof line.file>[1] & object, name: string) =>
  line.file(`${name}.json`, { ...of, storeId: name });

const identified = async (args: readonly string[]) => {
  const { code, out, err } = await runCairn(["store", "identify", ...args, "--json"]);
  return { code, err, document: JSON.parse(out) };
};

describe("cairn store identify", () => {
  it("names the best of exported stores, for people", async () => {
    const files = [
      await exported(member(5n, 10n, 40n), "aa"),
      await exported(member(5n, 35n, 50n), "bb"),
      await exported(member(4n, 0n, 9999n), "cc"),
      await exported(status({ state: "empty" }), "dd"),
    ];
    expect(await runCairn(["store", "identify", ...files])).toEqual({
      code: 0,
      err: "",
      out: [
        "store  state  configChange  counter  at config change  changes since  verdict",
        "aa     dirty             5       40                10             30  best",
        "bb     dirty             5       50                35             15  fewer changes",
        "cc     dirty             4     9999                 0           9999  older configuration",
        "dd     empty             -        0                 -              -  empty",
        "",
        "The most up to date is aa.",
        "",
      ].join("\n"),
    });
  });

  it("names it for programs, with decimal strings", async () => {
    const far = 2n ** 64n - 5n;
    const files = [await exported(member(5n, 100n, 110n), "b"), await exported(member(5n, far, 10n), "a")];
    const { code, document } = await identified(files);
    expect([code, document.best, "equal" in document]).toEqual([0, "a", false]);
    expect(document.stores[1]).toEqual({
      ...JSON.parse(JSON.stringify(statusDocument({ ...member(5n, far, 10n), storeId: "a" }))),
      store: "a",
      source: files[1],
      changesSince: "15",
      verdict: "best",
    });
  });

  it("says that stores are equal, the first by id", async () => {
    const files = [
      await exported(member(5n, 10n, 12n), "z"),
      await exported(member(5n, 0n, 2n), "y"),
      await exported(member(5n, 0n, 1n), "x"),
    ];
    const { code, document } = await identified(files);
    expect([code, document.best, document.equal]).toEqual([0, "y", ["y", "z"]]);
    const { out } = await runCairn(["store", "identify", ...files]);
    expect(out).toMatch(/Equal, any of them will do: y, z\.\n$/);
    const clean = [
      await exported(shutDown("S", status({ changeCounter: 3n })), "p"),
      await exported(shutDown("S", status({ changeCounter: 4n })), "o"),
    ];
    expect((await identified(clean)).document).toMatchObject({ best: "o", equal: ["o", "p"] });
  });

  it.each([
    ["different clusters", { clusterId: "d" }, "clusters", "they are of different clusters"],
    ["two sides of one", { configId: "other" }, "split", "both sides went on alone"],
  ])("refuses %s with 2 and says which belong together", async (_, difference, because, words) => {
    const files = [
      await exported(member(5n, 0n, 1n), "a"),
      await exported(member(5n, 0n, 9n, difference), "b"),
      await exported(member(5n, 0n, 2n), "c"),
    ];
    const { code, document } = await identified(files);
    expect([code, document.best, document.because, document.groups]).toEqual([2, null, because, [["a", "c"], ["b"]]]);
    const text = await runCairn(["store", "identify", ...files]);
    expect(text.code).toBe(2);
    expect(text.out).toContain(words);
    expect(text.out).toMatch(/ {2}a, c\n {2}b\n$/);
  });

  it("reads tables, and tables beside files", async () => {
    const configuration = { cl: "c", ci: "i", cc: "5", cp: "2", role: "primary", ms: "[]", rt: 60 };
    const tail = { pk: "TAIL#03", sk: "q#g#0", next: 8, settled: 3, dead: 0 };
    const withId = await line.table("first-table", { id: "from-table", ...configuration, base: "1" }, [tail]);
    const without = await line.table("second-table", { ...configuration, cp: "0" });
    const empty = await line.table("empty-table", {});
    const file = await exported(member(5n, 1n, 11n, { configId: "i" }), "from-file");
    const { code, document } = await identified([withId, file, without, empty]);
    expect(
      document.stores.map(({ store, changeCounter, state, verdict }: Record<string, string>) => [
        store,
        changeCounter,
        state,
        verdict,
      ]),
    ).toEqual([
      ["from-table", "12", "dirty", "equal"],
      ["from-file", "11", "dirty", "best"],
      [without.slice("table:".length), "0", "dirty", "fewer changes"],
      [empty.slice("table:".length), "0", "empty", "empty"],
    ]);
    expect([code, document.best, document.equal]).toEqual([0, "from-file", ["from-file", "from-table"]]);
  });

  it("writes nothing to the tables that it reads", async () => {
    const table = await line.table("read-only", {
      cl: "c",
      ci: "i",
      cc: "5",
      cp: "2",
      role: "primary",
      ms: "[]",
      rt: 60,
    });
    const before = await line.store("read-only").read({ pk: "STORE", sk: "STATUS" });
    expect((await identified([table])).code).toBe(0);
    expect(await line.store("read-only").read({ pk: "STORE", sk: "STATUS" })).toEqual(before);
    expect(before?.id).toBeUndefined();
  });
});

describe("what cannot be read ends with 1, and all of it is named", () => {
  it("fields, by their file", async () => {
    const good = JSON.parse(JSON.stringify(statusDocument(member(5n, 1n, 2n))));
    const one = await line.file("one.json", JSON.stringify({ ...good, changeCounter: 7, state: "dusty" }));
    const two = await line.file("two.json", JSON.stringify({ ...good, configChange: undefined }));
    const fine = await exported(member(5n, 1n, 2n), "fine");
    const { code, out, err } = await runCairn(["store", "identify", one, fine, two, "--json"]);
    expect([code, out]).toEqual([1, ""]);
    expect(err.split("\n")).toEqual([
      `cairn: ${one}: changeCounter must be a decimal string from 0 to 18446744073709551615`,
      `cairn: ${one}: state must be one of empty, dirty, clean`,
      `cairn: ${two}: configChange is missing: it must be a decimal string from 0 to 18446744073709551615, or null`,
      "",
    ]);
  });

  it.each([
    "storeId",
    "clusterId",
    "changeCounter",
    "configChange",
    "configId",
    "changeCounterAtConfigChange",
    "role",
    "state",
    "shutdownId",
    "changeCounterAtShutdown",
    "members",
    "readAt",
  ])("a wrong %s", async (field) => {
    const file = await line.file(
      `wrong-${field}.json`,
      JSON.stringify({ ...statusDocument(member(5n, 1n, 2n)), [field]: 7 }),
    );
    const { code, err } = await runCairn(["store", "identify", file]);
    expect(code).toBe(1);
    expect(err).toContain(`cairn: ${file}: ${field} must be `);
  });

  it("files, tables and records", async () => {
    const broken = await line.file("broken.json", "{");
    const record = await line.table("broken-record", {
      cl: "c",
      cc: "five",
      ci: "i",
      cp: "1",
      role: "primary",
      ms: "[]",
      rt: 9,
    });
    const tail = await line.table("broken-tail", {}, [{ pk: "TAIL#00", sk: "q#g#0", next: "1" }]);
    const missing = `table:no-such-table@${line.endpoint}`;
    const { code, err } = await runCairn([
      "store",
      "identify",
      broken,
      `${line.folder}/none.json`,
      record,
      tail,
      missing,
    ]);
    expect(code).toBe(1);
    expect(err.split("\n")).toEqual([
      expect.stringContaining(`${broken}: is not JSON`),
      expect.stringContaining(`${line.folder}/none.json: cannot be read: ENOENT`),
      `cairn: ${record}: record STORE STATUS: cc is not an unsigned 64-bit integer in decimal`,
      `cairn: ${tail}: record TAIL#00 q#g#0: next is not an integer`,
      `cairn: ${missing}: there is no such table`,
      "",
    ]);
  });

  it("every argument that is wrong, each by its name", async () => {
    const { code, err } = await runCairn(["store", "identify", "none.json", "table:", "table:cairn@moon"]);
    expect(code).toBe(1);
    expect(err.split("\n").slice(0, 3)).toEqual([
      expect.stringContaining("cairn: none.json: cannot be read"),
      expect.stringContaining("cairn: table:: a table's name has"),
      expect.stringContaining('cairn: table:cairn@moon: "moon" is neither'),
    ]);
  });

  it("places that nobody can be asked at", async () => {
    const { code, err } = await runCairn(["store", "identify", "table:some-table@http://127.0.0.1:9"]);
    expect([code, err]).toEqual([1, expect.stringContaining("table:some-table@http://127.0.0.1:9: cannot be reached")]);
  });
});

describe("a call that is not understood ends with 1 and help", () => {
  it.each([
    [[], ""],
    [["stor"], "unknown command stor"],
    [["store"], "store needs a command"],
    [["store", "choose"], "unknown command store choose"],
    [["store", "identify"], "identify what?"],
    [["store", "identify", "--all", "x"], "--all"],
    [["store", "identify", "x", "--table", "cairn"], "store identify takes no --table"],
    [["store", "identify", "table:x"], `a table's name has 3 to 255 of`],
    [["store", "identify", "table:cairn@moon"], '"moon" is neither an http or https URL nor an AWS region'],
    [["store", "status", "x"], "unexpected argument x"],
    [["store", "status", "--endpoint", "ftp://x"], "the endpoint must be an http or https URL"],
    [["store", "export", "--json"], "store export takes no --json"],
  ])("%j", async (args, words) => {
    const { code, out, err } = await runCairn(args);
    expect(code).toBe(1);
    expect(out + err).toContain("Usage: npm run -s cairn -- store identify");
    expect(err).toContain(words);
  });

  it("help that was asked for is none", async () => {
    for (const args of [["--help"], ["store", "--help"], ["store", "status", "-h"]]) {
      expect(await runCairn(args)).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^Usage: /) });
    }
  });
});
