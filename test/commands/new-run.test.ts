import { describe, expect, it } from "vitest";
import { factsOf, newRun } from "../../shared/commands/new-run.ts";
import { defaultSettings } from "../../shared/domain/queue.ts";
import { type Lease, lease } from "../../shared/domain/run.ts";
import { messageForm } from "../../shared/edge/message-form.ts";
import { runKey } from "../../shared/records/keys.ts";
import { runItem } from "../../shared/records/run.ts";
import { itemBytes } from "../../shared/records/size.ts";
import { declared, messageOf, put } from "../support/messages.ts";
import { useTable } from "../support/table.ts";

const table = useTable();

describe("a new run", () => {
  it("keeps bodies inline as long as its record stays within one write unit, leased too", async () => {
    const call = table.call();
    const queue = await declared(call);
    const under: Lease = { token: "t".repeat(12), expiresAtMs: call.now(), session: { name: "billing", epoch: 7 } };
    const inline: number[] = [];
    for (let size = 300; size <= 1024; size += 25) {
      const run = await put(call, queue, ["x".repeat(size)]);
      if (run.payload.kind === "chunks") continue;
      inline.push(size);
      const before = call.store.receipt.wru;
      await call.store.commit([
        { kind: "put", key: runKey(run.key), item: runItem(lease(run, [0], under)), require: [], otherwise: "reload" },
      ]);
      expect(call.store.receipt.wru - before).toBe(1);
    }
    expect(inline).toContain(700);
    expect(inline).not.toContain(1000);
  });

  it("takes the size of a record as the table does", async () => {
    const call = table.call();
    const base = { t: "é", n: 123, b: new Uint8Array(5), l: ["a", 1, { m: true, z: null }] };
    // Around one write unit, the table's bill tells whether the sum is right: never higher than ours, and not far lower.
    for (const filler of [880, 960, 1100]) {
      const item = { ...base, f: "x".repeat(filler) };
      const key = { pk: "SIZE", sk: String(filler) };
      const before = call.store.receipt.wru;
      await call.store.commit([{ kind: "put", key, item, require: [], otherwise: "reload" }]);
      expect(call.store.receipt.wru - before).toBe(Math.ceil(itemBytes({ ...item, ...key, w: "12345678" }) / 1024));
    }
  });

  it("gives each message the shorter of its own and its queue's time to live, from now on", () => {
    const settings = { ...defaultSettings, messageTtlSeconds: 60, retentionSeconds: 90 };
    const messages = [messageOf("a"), messageOf("b", { ttlSeconds: 5 }), messageOf("c", { ttlSeconds: 500 })];
    const queue = { name: "q", generation: "g", settings };
    const payload = { kind: "inline", bytes: new Uint8Array() } as const;
    const key = { name: "q", generation: "g", partition: 0, position: 0 };
    const run = newRun(queue, key, factsOf(settings, messages), "base", payload, 1_000_000);
    expect(run.expiries).toEqual([1_060_000, 1_005_000, 1_060_000]);
    expect(run.dropAtMs).toBe(1_090_000);
    const endless = { ...queue, settings: defaultSettings };
    const kept = newRun(endless, key, factsOf(defaultSettings, messages), "base", payload, 1_000_000);
    expect(kept.expiries).toEqual([0, 1_005_000, 1_500_000]);
    expect(kept.dropAtMs).toBe(0);
  });

  it("knows how much an answer adds to its bodies at most", () => {
    const messages = [
      messageOf('"\u0001\n'.repeat(50)),
      messageOf("x".repeat(1000), { bodyEncoding: "base64", headers: { k: "v".repeat(300) } }),
    ];
    const { overheadBytes, sizes } = factsOf(defaultSettings, messages);
    for (const [i, message] of messages.entries()) {
      const shown = Buffer.byteLength(JSON.stringify(messageForm(message, "m".repeat(24))));
      const size = sizes[i] ?? 0;
      expect(shown).toBeLessThanOrEqual(size + overheadBytes);
    }
  });
});
