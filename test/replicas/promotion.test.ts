import { expect, test } from "vitest";
import { useCluster } from "../support/cluster.ts";
import { browseAll, consume, enqueueBodies, expectXa, newQueue, newSession, swap, take } from "../support/moves.ts";
import { newXid } from "../support/names.ts";

const { service, cluster } = useCluster();

test("after a promotion recover lists the prepared branches, and they commit there", async () => {
  const { replicas, join, primary, status, promote } = await cluster(1);
  const [replica] = replicas;
  if (replica === undefined) throw new Error("there is no replica");
  const { client } = await service.process("before");
  const [a, b] = [await newQueue(client, ["one", "two", "three"]), await newQueue(client)];
  await consume(client, a);
  replica.start();
  await join(replica);
  await enqueueBodies(client, a, ["four", "x".repeat(20_000)]);
  const session = await newSession(client);
  const xid = newXid();
  expectXa(await session.start(xid), "XA_OK");
  await swap(session.within(xid), a, b);
  expectXa(await session.end(xid), "XA_OK");
  expectXa(await client.prepare(xid), "XA_OK");
  expect((await status(replica.store)).changeCounter).toBe((await status(primary)).changeCounter);
  await replica.stop();

  const configuration = await promote(replica);
  expect(configuration.configChange).toBe(2n);
  const { client: after } = await (async () => {
    const process = await service.process("after");
    await process.restart(replica.table);
    return process;
  })();
  const branches = await after.recover();
  expect(branches.map((branch) => branch.xid)).toEqual([xid]);
  expect((await browseAll(after, a)).map(({ body }) => body)).toEqual(["three", "four", "x".repeat(20_000)]);
  expectXa(await after.commit(xid), "XA_OK");
  expect((await take(after, b, 5)).map(({ body }) => body)).toEqual(["two"]);
  expect((await status(replica.store)).changeCounter).toBe((await status(primary)).changeCounter + 2n);
});
