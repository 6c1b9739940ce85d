import { type AttributeValue, ScanCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import {
  acceptAll,
  begin,
  drain,
  endAndPrepare,
  expectRefused,
  expectXa,
  newQueue,
  newSession,
  take,
} from "../support/moves.ts";
import { newXid } from "../support/names.ts";
import { answerLost } from "../support/table.ts";

const service = useInProcessService();

/** Long enough not to lie inline. */
const LONG = "x".repeat(2000);

describe("a publish in a branch that landed, but whose process was frozen before it heard so", () => {
  it("takes no body away from what was committed meanwhile, and does not say that nothing was done", async () => {
    const [one, two] = [await service.process("one"), await service.process("two")];
    await one.restart();
    const queue = await newQueue(two.client);
    const s = await newSession(two.client);
    const xid = newXid();
    await begin(s, xid);
    const inOne = one.client.with(s.context).within(xid);
    let attempts = 0;
    one.onAttempt = async ({ operation, input }, _attempt, send) => {
      if (operation !== "PutItem" || !JSON.stringify(input).includes("XID#")) return send();
      attempts += 1;
      if (attempts > 1) return send();
      await send();
      await endAndPrepare(s, xid);
      expectXa(await two.client.commit(xid), "XA_OK");
      throw answerLost();
    };
    expectRefused(await inOne.enqueue(queue, [{ body: LONG }]), "unavailable");
    expect(attempts).toBe(2);
    expect(await drain(two.client, queue)).toMatchObject([{ body: LONG, redelivered: false }]);
  });
});

describe("a call frozen for longer than a token is remembered", () => {
  it("makes no further attempt: nothing that was settled meanwhile comes back", async () => {
    const [one, two] = [await service.process("one"), await service.process("two")];
    await one.restart();
    const queue = await newQueue(two.client);
    let attempts = 0;
    one.onAttempt = async ({ operation, input }, _attempt, send) => {
      if (operation !== "TransactWriteItems") return send();
      attempts += 1;
      if (attempts > 1) {
        // What the table does with a token that it has forgotten.
        Object.assign(input, { ClientRequestToken: `forgotten-${attempts}` });
        return send();
      }
      await send();
      expect(await drain(two.client, queue)).toMatchObject([{ body: "once" }]);
      service.wait(11 * 60_000);
      throw answerLost();
    };
    expectRefused(await one.client.enqueue(queue, [{ body: "once" }]), "unavailable");
    expect(attempts).toBe(1);
    expect(await drain(two.client, queue)).toEqual([]);
  });
});

describe("reads that are late", () => {
  it("do not make an accept hold what its branch has given back", async () => {
    const one = await service.process("one");
    await one.restart();
    const queue = await newQueue(one.client, ["the message"]);
    const s = await newSession(one.client);
    const xid = newXid();
    const b = await begin(s, xid);
    const deliveries = await take(s, queue, 1, 300);
    await acceptAll(b, deliveries);
    const [branch, run] = await Promise.all([itemsOf("TPL#", xid), itemsOf("QUEUE#", queue)]);
    expectXa(await s.end(xid), "XA_OK");
    expectXa(await s.rollback(xid), "XA_OK");
    one.onCall = async ({ operation, input }, next) => {
      const { ConsistentRead, Key } = input as { ConsistentRead?: boolean; Key?: { pk: { S: string } } };
      if (operation !== "GetItem" || ConsistentRead !== false) return next();
      if (Key?.pk.S.startsWith("TPL#")) return late(branch);
      return Key?.pk.S.startsWith("QUEUE#") ? late(run) : next();
    };
    expectRefused(await b.accept(deliveries.map(({ deliveryId }) => deliveryId)), "illegal-state");
    one.onCall = undefined;
    expect(await drain(one.client, queue)).toMatchObject([{ body: "the message", redelivered: true }]);
  });
});

/** An answer with a record as it was. */
const late = (item: Record<string, AttributeValue> | undefined) => ({
  output: { Item: item, $metadata: {} },
  response: {},
});

/** The branch of an xid, or the first run of a queue, as it lies in the table. */
const itemsOf = async (prefix: "TPL#" | "QUEUE#", name: string) => {
  const { Items = [] } = await service.table.send(
    new ScanCommand({ TableName: service.tableName, ConsistentRead: true }),
  );
  return Items.find(({ pk, sk }) =>
    prefix === "TPL#" ? sk?.S === `XID#${name}` : pk?.S?.startsWith(`QUEUE#${name}#`) && sk?.S?.startsWith("M#"),
  );
};
