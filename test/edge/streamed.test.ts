import type { Context, DynamoDBStreamEvent } from "aws-lambda";
import { expect, test } from "vitest";
import { streamed } from "../../shared/edge/streamed.ts";
import { imagesOf } from "../../shared/store/stream.ts";

const event = {
  Records: [
    { eventName: "INSERT", dynamodb: { NewImage: { pk: { S: "a" }, b: { B: "AQID" }, m: { M: { b: { B: "" } } } } } },
    { eventName: "REMOVE", dynamodb: { OldImage: { pk: { S: "b" } } } },
    { eventName: "MODIFY", dynamodb: { NewImage: { pk: { S: "c" }, n: { N: "7" }, l: { L: [{ B: "AQ==" }] } } } },
  ],
} as unknown as DynamoDBStreamEvent;

const scope = () => {
  const log: string[] = [];
  return { log, settled: async () => void log.push("settled") };
};

test("images come in order, binary as bytes at any depth, and no removal among them", () => {
  expect(imagesOf(event.Records)).toEqual([
    { pk: "a", b: new Uint8Array([1, 2, 3]), m: { b: new Uint8Array() } },
    { pk: "c", n: 7, l: [new Uint8Array([1])] },
  ]);
});

test("the batch is fed on whole, and nothing is open when the function returns", async () => {
  const context = scope();
  const handler = streamed(
    () => context,
    async ({ log }, records) => void log.push(`fed ${records.length}`),
  );
  expect(await handler(event, {} as Context)).toBeUndefined();
  expect(context.log).toEqual(["fed 3", "settled"]);
});

test("a failure is the function's: the whole batch comes again", async () => {
  const context = scope();
  const handler = streamed(
    () => context,
    async () => {
      throw new Error("not applied");
    },
  );
  await expect(handler(event, {} as Context)).rejects.toThrow("not applied");
  expect(context.log).toEqual(["settled"]);
});
