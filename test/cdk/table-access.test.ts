import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { wholeActions } from "../../cdk/constructs/handler-function.ts";
import { consumers, routes, schedules, type TableAccess } from "../../cdk/routes.ts";

// A missing permission shows nowhere but in an account: the engines used locally ask for none. So what each function
// may do is held here to what the code in its bundle does.

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Most first. */
const needs: readonly { readonly access: TableAccess; readonly calls: RegExp }[] = [
  { access: "write", calls: /\bstore\.(commit|count)\(/ },
  { access: "read", calls: /\bstore\.(read|readAll|query)\(/ },
];

/** In every bundle by way of shared/config.ts: what reads for the commands, and what waits for replicas where there are any. */
const everywhere = new Set((await filesOfBundles({ config: "shared/config.ts" })).get("config"));

/** The most that the commands in the bundle may ask of the table. */
function neededBy(files: readonly string[]): TableAccess {
  const commands = files.filter((file) => file.startsWith("shared/commands/") && !everywhere.has(file));
  const text = commands.map((file) => readFileSync(`${root}${file}`, "utf8")).join("\n");
  return needs.find(({ calls }) => calls.test(text))?.access ?? "none";
}

const sends = (file: string): boolean => /\bcommandQueue\.send\(/.test(readFileSync(`${root}${file}`, "utf8"));

/** The files of which anything stands in each handler's bundle. */
async function filesOfBundles(
  entries: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.entries(entries).map(([out, file]) => ({ in: file, out })),
    outdir: "bundles",
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    packages: "external",
  });
  return new Map(
    Object.entries(metafile.outputs).map(([output, { inputs }]) => [
      output.slice("bundles/".length, -".js".length),
      Object.keys(inputs).filter((file) => (inputs[file]?.bytesInOutput ?? 0) > 0),
    ]),
  );
}

const ofLambdas = (lambdas: Iterable<string>) =>
  filesOfBundles(Object.fromEntries([...lambdas].map((lambda) => [lambda, `lambdas/${lambda}.ts`])));

describe("what a function is granted", () => {
  test("is what the commands in its bundle need, and no more", async () => {
    const listed = new Map<string, TableAccess>([
      ...routes.map((route) => [route.lambda, route.tableAccess] as const),
      ...schedules.map((schedule) => [schedule.lambda, "write"] as const),
      ...consumers.map((consumer) => [consumer.lambda, "write"] as const),
    ]);
    const bundles = await ofLambdas(listed.keys());
    const needed = [...bundles].map(([lambda, files]) => [lambda, neededBy(files)] as const);

    expect(Object.fromEntries(needed)).toEqual(Object.fromEntries(listed));
  });

  test("includes sending exactly where a command in the bundle sends", async () => {
    const listed = [...routes, ...schedules].filter(({ sends }) => sends).map(({ lambda }) => lambda);
    const all = [...routes, ...schedules, ...consumers].map(({ lambda }) => lambda);
    const senders = [...(await ofLambdas(all))]
      .filter(([, files]) => files.some((file) => file.startsWith("shared/commands/") && sends(file)))
      .map(([lambda]) => lambda);

    expect(senders.sort()).toEqual([...listed, ...consumers.map(({ lambda }) => lambda)].sort());
  });

  test("covers every call that the store makes", () => {
    const folder = `${root}shared/store/`;
    const text = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(`${folder}${file}`, "utf8"));
    const sent = new Set(text.join("\n").match(/\b[A-Z]\w+(?=Command\()/g));
    const actions = [...sent].flatMap((call) =>
      call === "TransactWriteItems" ? ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"] : [call],
    );

    expect([...new Set(actions)].map((action) => `dynamodb:${action}`).sort()).toEqual([...wholeActions].sort());
  });
});
