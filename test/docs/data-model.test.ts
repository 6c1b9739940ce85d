import { paginateScan } from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { beforeAll, describe, expect, it } from "vitest";
import { type Client, deferred } from "../support/client.ts";
import { useInProcessService } from "../support/in-process.ts";
import { newXid } from "../support/names.ts";
import { blocks, codeRows, page } from "./markdown.ts";

type Item = Readonly<Record<string, unknown>>;

const service = useInProcessService();
let client: Client;

beforeAll(async () => {
  client = (await service.process("one")).client;
});

/** Every record; holds, which are named by random incarnations, all under the name `…`. */
const itemsNow = async (): Promise<readonly Item[]> => {
  const items: Item[] = [];
  for await (const { Items = [] } of paginateScan(
    { client: service.table },
    { TableName: service.tableName, ConsistentRead: true },
  )) {
    items.push(...Items.map((raw) => unmarshall(raw)));
  }
  return items.map(({ h, ...item }) =>
    h === undefined ? item : { ...item, h: Object.fromEntries(Object.values(h as Item).map((hold) => ["…", hold])) },
  );
};

describe("docs/data-model.md", () => {
  it("shows the records as they are", async () => {
    const [prepared, committed] = blocks(page("docs/data-model.md")).map(({ lines }) => lines.map(exampleOf));
    await client.declare("orders");
    await client.declare("bills", { maxMessages: 100 });
    const billing = await client.attached("billing");
    await client.enqueue("orders", [{ body: "two coffees" }, { body: "tea" }]);
    const xid = "1.6f7264657273.01";
    await billing.start(xid, { timeoutSeconds: 600 });
    const inBranch = billing.within(xid);
    const [delivery] = (await inBranch.acquire("orders")).body.deliveries;
    await inBranch.accept([delivery?.deliveryId ?? ""]);
    await inBranch.enqueue("bills", [{ body: "7.20" }]);
    await billing.end(xid);
    await client.prepare(xid);
    const isExampled = ({ pk }: Item) => !/^SESSION|^QUEUE#\w+$/.test(String(pk));
    const before = (await itemsNow()).filter((item) => isExampled(item) || String(item.sk).startsWith("CAPACITY"));
    expect(before).toHaveLength(prepared?.length ?? 0);
    expect(before).toEqual(expect.arrayContaining(prepared ?? []));

    await client.commit(xid);
    const after = (await itemsNow()).filter(isExampled);
    expect(after).toHaveLength(committed?.length ?? 0);
    expect(after).toEqual(expect.arrayContaining(committed ?? []));
  });
});

describe("shared/records/README.md", () => {
  it("describes every record of a used table, with every attribute", async () => {
    await service.newTable();
    const process = await service.process("two");
    await use(process.client);
    await process.runWorker();
    // One that nobody has run yet.
    deferred(await process.client.with({ session: "billing", epoch: 1 }).later.enqueue("letters", [{ body: "later" }]));
    await process.runSchedule();
    const met = new Set<string>();
    for (const item of await itemsNow()) {
      const record = described.find(({ pk, sk }) => pk.test(String(item.pk)) && sk.test(String(item.sk)));
      expect(record, `${item.pk} / ${item.sk}`).toBeDefined();
      met.add(record?.name ?? "");
      const attributes = Object.keys(item).filter((name) => !["pk", "sk", "w"].includes(name));
      expect(record?.attributes, `${item.pk} / ${item.sk}`).toEqual(expect.arrayContaining(attributes));
    }
    // The counters of the store are written when a deleted queue has been swept for 16 minutes.
    expect([...met, "store", ...ofReplicas].toSorted()).toEqual(described.map(({ name }) => name).toSorted());
  });
});

/** Leaves at least one record of each kind behind. */
async function use(c: Client): Promise<void> {
  await c.declare("letters");
  await c.declare("orders", {
    deadLetterQueue: "letters",
    maxMessages: 9_000,
    retentionSeconds: 600,
    maxDeliveries: 9,
  });
  await c.declare("gone");
  await c.enqueue("gone", [{ body: "held when its queue goes" }]);
  await c.declareExchange("lost", { type: "fanout" });
  await c.declareExchange("events", { type: "topic", alternateExchange: "lost" });
  await c.bind("events", { queue: "orders", bindingKey: "orders.#", arguments: { note: "for the ledger" } });
  await c.publish("lost", [{ body: "reaches no queue" }]);
  const billing = await c.attached("billing");
  const message = { body: "b".repeat(900), headers: { a: 1 }, ttlSeconds: 500, priority: 3, deduplicationId: "d" };
  await c.enqueue("orders", [message, { body: "second" }], { "idempotency-key": "k" });
  const [large, done, open] = [newXid(), newXid(), newXid()];
  for (const xid of [large, done, open]) await billing.start(xid);
  for (let i = 0; i < 40; i += 1) await billing.within(large).enqueue("letters", [{ body: "x".repeat(200) }]);
  const [first] = (await billing.within(open).acquire("gone")).body.deliveries;
  await billing.within(open).accept([first?.deliveryId ?? ""]);
  const [leased] = (await billing.acquire("orders")).body.deliveries;
  await c.reject([leased?.deliveryId ?? ""], "not mine");
  await billing.acquire("orders");
  await c.deleteQueue("gone");
  deferred(await billing.later.enqueue("letters", [{ body: "sooner" }]));
  await c.enqueue("letters", [{ body: "handed on", deliveryMode: "transient" }]);
  await billing.end(large);
  await c.prepare(large);
  await billing.end(done);
  await c.rollback(done);
  const other = await c.attached("other");
  await other.detach("other");
}

/** Nobody writes these in a store without replicas. */
const ofReplicas = ["counted changes", "journal", "pulse", "stone", "stones"];

interface Described {
  readonly name: string;
  readonly pk: RegExp;
  readonly sk: RegExp;
  readonly attributes: readonly string[];
}

/** The records of the item table; what it says of a run's attributes stands in the paragraph below. */
const described: readonly Described[] = (() => {
  const text = page("shared/records/README.md");
  const ofRun = /^A run: (.*?)\n\n/ms.exec(text)?.[1] ?? "";
  const codesIn = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
  return codeRows(text)
    .filter(([name = ""]) => name.startsWith("**"))
    .map(([name = "", key = "", attributes = ""]) => {
      const [pk = "", sk = ""] = key.replaceAll("`", "").split(" / ");
      return {
        name: /\*\*(.+)\*\*/.exec(name)?.[1] ?? "",
        pk: keyShape(pk),
        sk: keyShape(sk),
        attributes: codesIn(attributes === "see below" ? ofRun : attributes),
      };
    });
})();

/** What stands in angle brackets has no `#`, unless it is a caller's own text or made of several names. */
function keyShape(key: string): RegExp {
  const free = /^<(owner|id|principal|key)\b/;
  const parts = key.split(/(<[^>]+>)/).map((part) => {
    if (!part.startsWith("<")) return escaped(part);
    return free.test(part) ? ".+" : "[^#]+";
  });
  return new RegExp(`^${parts.join("")}$`);
}

/** A record of the page: `…` alone is anything, inside a text any part of it. */
function exampleOf(line: string): unknown {
  const open = (value: unknown): unknown => {
    if (value === "…") return expect.anything();
    if (typeof value === "string" && value.includes("…")) {
      return expect.stringMatching(new RegExp(`^${value.split("…").map(escaped).join(".+")}$`));
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, open(inner)]));
  };
  return open(JSON.parse(line));
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
