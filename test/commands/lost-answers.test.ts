import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { acquire } from "../../shared/commands/acquire.ts";
import { accept } from "../../shared/commands/deliveries/accept.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { tableClient } from "../../shared/store/client.ts";
import { Unavailable } from "../../shared/store/port.ts";
import { declared, put, reread, take } from "../support/messages.ts";
import { answerLost, type TestCall, useTable } from "../support/table.ts";

const table = useTable();

const conflict = () =>
  Object.assign(new Error("a transaction is in progress"), { name: "TransactionConflictException", $metadata: {} });

const throttled = () =>
  Object.assign(new Error("too fast"), { name: "ProvisionedThroughputExceededException", $metadata: {} });

const removeOne = async (call: TestCall, queue: string) => {
  const delivered = await acquire(call, {
    queue,
    maxMessages: 1,
    waitSeconds: 0,
    leaseSeconds: undefined,
    settle: "none",
    session: undefined,
    xid: undefined,
  });
  if (isRefusal(delivered)) throw new Error(delivered.detail);
  return delivered;
};

describe("an answer that was lost", () => {
  it("is remembered over a conflict: the accept that landed is told as accepted", async () => {
    const call = table.call();
    const queue = await declared(call);
    const run = await put(call, queue, ["a"]);
    const deliveries = await take(call, run);
    let attempts = 0;
    table.around(async (command, send) => {
      if (command !== "DeleteItemCommand") return send();
      attempts += 1;
      if (attempts === 1) {
        await send();
        throw answerLost();
      }
      if (attempts === 2) throw conflict();
      return send();
    });
    expect(await accept(table.call(), { deliveries, session: undefined, xid: undefined })).toEqual(["ok"]);
    expect(attempts).toBe(3);
    expect(await reread(table.call(), run)).toBeUndefined();
  });

  it("gives nobody a message that someone else has removed meanwhile", async () => {
    const call = table.call();
    const queue = await declared(call);
    await put(call, queue, ["only once"]);
    let others: Promise<readonly unknown[]> | undefined;
    table.around(async (command, send) => {
      if (others !== undefined || !["DeleteItemCommand", "TransactWriteItemsCommand"].includes(command)) return send();
      // Throttled: the attempt did nothing, and another consumer comes before the next one.
      others = removeOne(table.call(), queue.name);
      await others;
      throw throttled();
    });
    const ours = await removeOne(table.call(), queue.name);
    expect([ours.length, (await others)?.length]).toEqual([0, 1]);
  });

  it("of a name that could not be resolved for a moment is lost contact, no defect", async () => {
    table.around(async () => {
      throw Object.assign(new Error("getaddrinfo"), { code: "EAI_AGAIN" });
    });
    await expect(table.call().store.read({ pk: "a", sk: "b" })).rejects.toBeInstanceOf(Unavailable);
  });

  it("is not waited for without end: a connection that says nothing is given up after 5 s, and asked again", async () => {
    let requests = 0;
    const server: Server = createServer((_, response) => {
      requests += 1;
      if (requests > 1) response.end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = tableClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    try {
      const key = { pk: { S: "a" }, sk: { S: "b" } };
      expect((await client.send(new GetItemCommand({ TableName: "t", Key: key }))).Item).toBeUndefined();
      expect(requests).toBe(2);
    } finally {
      client.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
