import { paginateScan } from "@aws-sdk/client-dynamodb";
import { expect, it } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { begin, bodiesOf, expectOk, expectXa, newQueue, newSession } from "../support/moves.ts";
import { newXid } from "../support/names.ts";

const service = useInProcessService();

/** The blocks of branches that are in the table. */
const blocks = async (): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const { Items = [] } of paginateScan(
    { client: service.table },
    { TableName: service.tableName, ConsistentRead: true },
  )) {
    found.push(...Items.flatMap(({ sk }) => (sk?.S?.startsWith("OPS#") ? [sk.S] : [])));
  }
  return found;
};

it("a decision that comes too late leaves no block behind that it had put aside", async () => {
  const [one, two] = [await service.process("one"), await service.process("two")];
  const queue = await newQueue(one.client);
  const s = await newSession(one.client);
  const xid = newXid();
  const b = await begin(s, xid);
  // Records make it large: each deduplication id is one.
  const messages = Array.from({ length: 120 }, (_, i) => ({ body: `${i}`, deduplicationId: `${i}` }));
  expectOk(await b.enqueue(queue, messages.slice(0, 60)), 201);
  expectOk(await b.enqueue(queue, messages.slice(60)), 201);
  expectXa(await s.end(xid), "XA_OK");
  let isHeld = false;
  one.onCall = async ({ operation, input }, next) => {
    if (!isHeld && operation === "PutItem" && JSON.stringify(input).includes('"OPS#')) {
      isHeld = true;
      expectXa(await two.client.rollback(xid), "XA_OK");
    }
    return next();
  };
  await one.client.commit(xid, { onePhase: true });
  expect(isHeld).toBe(true);
  expect(await blocks()).toEqual([]);
  expect(await bodiesOf(two.client, queue)).toEqual([]);
});
