import { describe, expect, it } from "vitest";
import { bodiesOf, consume, countsOf, drain, newQueue, take } from "../support/moves.ts";
import { expectOutcomes, idsOf } from "../support/outcomes.ts";
import { wait } from "../support/poll.ts";
import { useService } from "../support/service.ts";
import type { Delivery } from "../support/shapes.ts";

const service = useService();
const c = service.client;

const bodies = (deliveries: readonly Delivery[]): string[] => deliveries.map((delivery) => delivery.body);

describe.concurrent("release", () => {
  it("puts back to the original position, redelivered, the delivery counted", async () => {
    const queue = await newQueue(c, ["a", "b", "c", "d"]);
    const deliveries = await take(c, queue, 3);
    const [a, b] = idsOf(deliveries) as [string, string];
    expectOutcomes(await c.release([b, a]), [b, a], ["released", "released"]);
    expect(await countsOf(c, queue)).toEqual({ available: 3, leased: 1, held: 0 });
    expect(await bodiesOf(c, queue)).toEqual(["a", "b", "d"]);
    const again = await take(c, queue, 10);
    expect(again.map((d) => [d.body, d.redelivered, d.deliveryCount])).toEqual([
      ["a", true, 2],
      ["b", true, 2],
      ["d", false, 1],
    ]);
    expect(again[0]).toMatchObject({ sequence: deliveries[0]?.sequence, messageId: deliveries[0]?.messageId });
  });

  it("counts every delivery, over a restart too", async () => {
    const queue = await newQueue(c, ["a"]);
    for (let delivery = 1; delivery <= 5; delivery += 1) {
      const [again] = await take(c, queue);
      expect(again).toMatchObject({ deliveryCount: delivery, redelivered: delivery > 1 });
      await c.release(idsOf(again === undefined ? [] : [again]));
    }
  });

  it("with a delay lets others pass, counts as leased until then, and comes back to its place", async () => {
    const queue = await newQueue(c, ["a", "b", "c"]);
    const ids = idsOf(await take(c, queue));
    expectOutcomes(await c.release(ids, { delaySeconds: 3 }), ids, ["released"]);
    expect(await countsOf(c, queue)).toEqual({ available: 2, leased: 1, held: 0 });
    expect(await bodiesOf(c, queue)).toEqual(["b", "c"]);
    expectOutcomes(await c.accept(ids), ids, ["lease-lost"]);
    expect(bodies(await consume(c, queue))).toEqual(["b"]);
    await wait(3100);
    expect(await countsOf(c, queue)).toEqual({ available: 2, leased: 0, held: 0 });
    expect((await take(c, queue, 5)).map((d) => [d.body, d.redelivered])).toEqual([
      ["a", true],
      ["c", false],
    ]);
  });

  it("takes delays of their own in one queue", async () => {
    const queue = await newQueue(c, ["a", "b", "c"]);
    const [a, b, last] = idsOf(await take(c, queue, 3)) as [string, string, string];
    await c.release([a], { delaySeconds: 600 });
    await c.release([b], { delaySeconds: 1 });
    await c.release([last], { delaySeconds: 0 });
    await wait(1100);
    expect(await bodiesOf(c, queue)).toEqual(["b", "c"]);
  });
});

describe.concurrent("reject", () => {
  it("drops when there is no dead-letter queue, and counts as settled", async () => {
    const queue = await newQueue(c, ["a", "b"]);
    const ids = idsOf(await take(c, queue));
    expectOutcomes(await c.reject(ids, "no use"), ids, ["rejected"]);
    expect(await c.stats(queue)).toMatchObject({ available: "1", leased: "0", settled: "1", deadLettered: "0" });
    expect(bodies(await drain(c, queue))).toEqual(["b"]);
  });
});

describe.concurrent("extend", () => {
  it("gives a later deadline: the message stays away, and the same id settles it", async () => {
    const queue = await newQueue(c, ["a", "b"]);
    const ids = idsOf(await take(c, queue, 2, 2));
    const [a] = ids as [string, string];
    expectOutcomes(await c.extend([a], 60), [a], ["extended"]);
    await wait(2100);
    expect(await bodiesOf(c, queue)).toEqual(["b"]);
    expect(await countsOf(c, queue)).toEqual({ available: 1, leased: 1, held: 0 });
    expectOutcomes(await c.accept(ids), ids, ["accepted", "lease-lost"]);
  });

  it("counts from the call, again and again", async () => {
    const queue = await newQueue(c, ["a"]);
    const ids = idsOf(await take(c, queue, 1, 4));
    for (let i = 0; i < 3; i += 1) {
      await wait(1500);
      expectOutcomes(await c.extend(ids, 4), ids, ["extended"]);
    }
    const [delivery] = await take(c, queue);
    expect(delivery).toBeUndefined();
    await wait(4100);
    expect(await take(c, queue)).toMatchObject([{ body: "a", deliveryCount: 2 }]);
  });
});
