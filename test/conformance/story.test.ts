import { expect, it } from "vitest";
import { bodiesOf, drain, expectOk, stateOf } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { useService } from "../support/service.ts";

const service = useService();

it("the README's story: prepared, everything killed, in doubt, committed, delivered once", async () => {
  const c = service.client;
  const queue = unique("orders");
  expectOk(await c.declare(queue), 201);

  const billing = await c.attached(unique("billing"));
  const xid = newXid();
  expectOk(await billing.start(xid));
  const order = { body: '{"order":1}', contentType: "application/json" };
  expectOk(await billing.within(xid).enqueue(queue, [order]), 201);
  expectOk(await billing.end(xid));
  expect(expectOk(await billing.prepare(xid))).toMatchObject({ xa: "XA_OK" });

  await service.restart();

  const inDoubt = async () => (await c.recover()).filter((branch) => branch.xid === xid);
  expect(await inDoubt()).toMatchObject([{ xid, state: "prepared", session: billing.context.session }]);
  expect(await bodiesOf(c, queue)).toEqual([]);
  expect(expectOk(await c.acquire(queue)).deliveries).toEqual([]);

  expect(expectOk(await c.commit(xid))).toMatchObject({ xa: "XA_OK" });
  const delivered = await drain(c, queue);
  expect(delivered).toMatchObject([{ ...order, redelivered: false, deliveryCount: 1 }]);

  await service.restart();
  expect(await drain(c, queue)).toEqual([]);
  expect(await inDoubt()).toEqual([]);
  expect(await stateOf(c, xid)).toBe("committed");
});
