import { describe, expect, it } from "vitest";
import { accept } from "../../shared/commands/deliveries/accept.ts";
import { reject } from "../../shared/commands/deliveries/reject.ts";
import { release } from "../../shared/commands/deliveries/release.ts";
import { bodiesOn, declared, put, take } from "../support/messages.ts";
import { answerLost, type TestCall, useTable } from "../support/table.ts";

const table = useTable();

/** What the table says when it refuses an attempt: nothing was written. */
const throttled = () =>
  Object.assign(new Error("too fast"), {
    name: "ProvisionedThroughputExceededException",
    $metadata: { httpStatusCode: 400 },
  });

/** Two messages, the first one leased. */
const leasedOne = async (call: TestCall) => {
  const queue = await declared(call);
  const run = await put(call, queue, ["a", "b"]);
  return { queue, deliveries: await take(call, run, { indexes: [0] }) };
};

/** Fails the first write of a run so, and lets someone else work before it is tried again. */
const failFirst = (error: () => Error, meanwhile: () => Promise<unknown>): void => {
  let isFirst = true;
  table.around(async (command, send) => {
    if (!isFirst || command !== "PutItemCommand") return send();
    isFirst = false;
    await meanwhile();
    throw error();
  });
};

const nobody = { session: undefined, xid: undefined };

describe("an attempt that was repeated, with someone else's change in between", () => {
  it.for([
    ["throttled", throttled],
    ["lost on its way", answerLost],
  ] as const)("%s: an accept is not told as accepted when the message is back", async ([, error]) => {
    const call = table.call();
    const { queue, deliveries } = await leasedOne(call);
    failFirst(error, () => release(table.call(), { deliveries, ...nobody }, 0, undefined));
    expect(await accept(table.call(), { deliveries, ...nobody })).toEqual(["lease-lost"]);
    expect(await bodiesOn(call, queue)).toEqual(["a", "b"]);
  });

  it("throttled: an accept is not told as accepted when the message was rejected", async () => {
    const call = table.call();
    const { deliveries } = await leasedOne(call);
    failFirst(throttled, () => reject(table.call(), { deliveries, ...nobody }, undefined));
    expect(await accept(table.call(), { deliveries, ...nobody })).toEqual(["not-found"]);
  });
});
