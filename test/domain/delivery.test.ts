import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deliveryId, parseDelivery } from "../../shared/domain/delivery.ts";
import { names, tokens } from "../support/arbitraries.ts";

const deliveries = fc.record({
  run: fc.record({
    name: names,
    generation: tokens,
    partition: fc.nat(63),
    position: fc.nat(Number.MAX_SAFE_INTEGER),
  }),
  index: fc.nat(99),
  token: tokens,
});

const idOf = (text: string): string => Buffer.from(text).toString("base64url");

describe("a delivery id", () => {
  it("gives back the delivery that it was made of", () => {
    fc.assert(
      fc.property(deliveries, (delivery) => {
        expect(parseDelivery(deliveryId(delivery))).toEqual(delivery);
      }),
    );
  });

  it("is one word that fits a header or a path", () => {
    fc.assert(fc.property(deliveries, (delivery) => /^[\w-]+$/.test(deliveryId(delivery))));
  });

  it("differs for different deliveries", () => {
    fc.assert(
      fc.property(deliveries, deliveries, (a, b) => {
        expect(deliveryId(a) === deliveryId(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  it("of any other text is none, and no text makes it throw", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.string().map(idOf)), (text) => {
        expect(parseDelivery(text)).toBeUndefined();
      }),
    );
  });

  it.each([
    ["a name that no queue can have", "0/0/0/token/generation/.."],
    ["no name", "0/0/0/token/generation/"],
    ["a negative position", "0/-1/0/token/generation/a"],
    ["a position past 2^53", "0/9007199254740993/0/token/generation/a"],
    ["an index past the largest run", "0/0/100/token/generation/a"],
    ["no token", "0/0/0//generation/a"],
    ["no generation", "0/0/0/token//a"],
    ["a part too few", "0/0/0/token/a"],
  ])("is not one with %s", (_, text) => {
    expect(parseDelivery(idOf(text))).toBeUndefined();
  });

  it("is nothing but itself: no sign before or after it, no text around what it stands for", () => {
    const text = "0/5/7/token/generation/queue";
    const id = idOf(text);
    expect(parseDelivery(id)).toBeDefined();
    const others = [
      `!${id}`,
      `${id}!`,
      `${id}=`,
      `${id} `,
      "",
      idOf(`x${text}`),
      idOf(`1000${text}`),
      idOf(`${text}\nx`),
    ];
    expect(others.map(parseDelivery)).toEqual(others.map(() => undefined));
  });
});
