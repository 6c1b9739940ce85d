import { describe, expect, it } from "vitest";
import { HeldLanes, type Lanes, lanesOf, type Request } from "../../shared/domain/command.ts";
import { deliveryId } from "../../shared/domain/delivery.ts";
import { isPersisted } from "../../shared/domain/durability.ts";
import { isHandedOn } from "../../shared/domain/enqueued.ts";
import { defaultSettings } from "../../shared/domain/queue.ts";

describe("whether a message is persisted", () => {
  it.each([
    ["always", "persistent", true],
    ["always", "transient", true],
    ["never", "persistent", false],
    ["never", "transient", false],
    ["default", "persistent", true],
    ["default", "transient", false],
  ] as const)("on a queue of %s, a %s one: %s", (messageDurability, deliveryMode, is) => {
    expect(isPersisted({ messageDurability }, { deliveryMode })).toBe(is);
  });
});

describe("an answer", () => {
  const message = (sequences: readonly (string | undefined)[]) => ({
    messageId: "m",
    queues: sequences.map((sequence) => ({ queue: "q", ...(sequence !== undefined && { sequence }) })),
    duplicate: false,
  });
  it.each([
    ["of what went only to the command queue is one of something on its way", [[undefined]], true, true],
    ["of what was stored is not", [["0"]], true, false],
    ["of what was stored on one of its queues is not", [[undefined, "0"]], true, false],
    ["of which one message was stored is not", [[undefined], ["0"]], true, false],
    ["of what reached no queue is not", [[]], true, false],
    ["of one that went on and one that reached no queue is", [[], [undefined]], true, true],
    ["in a branch is not", [[undefined]], false, false],
    ["of nothing is not", [], true, false],
  ] as const)("%s", (_, messages, completed, is) => {
    expect(isHandedOn({ messages: messages.map(message), completed })).toBe(is);
  });
});

describe("what a command touches", () => {
  const idOn = (name: string) =>
    deliveryId({ run: { name, generation: "g", partition: 0, position: 0 }, index: 0, token: "t" });
  const settings = { type: "direct", alternateExchange: null } as const;
  const binding = { exchange: "x", queue: "q", key: "k" };
  it.each<[string, Request, Lanes]>([
    ["enqueue", { kind: "enqueue", queue: "q" }, { queues: ["q"], changes: [] }],
    ["declare", { kind: "declare-queue", queue: "q", settings: defaultSettings }, { queues: ["q"], changes: [] }],
    ["delete", { kind: "delete-queue", queue: "q", ifEmpty: false, ifUnused: false }, { queues: ["q"], changes: [] }],
    [
      "publish",
      { kind: "publish", exchange: "x", routingKey: "k", mandatory: false },
      { queues: [], routes: "x", changes: [] },
    ],
    [
      "accept",
      { kind: "settle", verb: "accept", deliveryIds: [idOn("a"), idOn("b"), idOn("a")], delaySeconds: 0 },
      { queues: ["a", "b"], changes: [] },
    ],
    ["of an exchange's declare", { kind: "declare-exchange", exchange: "x", settings }, { queues: [], changes: ["x"] }],
    [
      "of a declare that names an alternate",
      { kind: "declare-exchange", exchange: "x", settings: { type: "direct", alternateExchange: "y" } },
      { queues: [], changes: ["x", "y"] },
    ],
    ["of its delete", { kind: "delete-exchange", exchange: "x" }, { queues: [], changes: ["x"] }],
    ["bind", { kind: "bind", binding, arguments: {} }, { queues: ["q"], changes: ["x"] }],
    ["unbind", { kind: "unbind", binding }, { queues: ["q"], changes: ["x"] }],
  ])("%s", (_, request, lanes) => {
    expect(lanesOf(request)).toEqual(lanes);
  });

  it("leaves out what is no delivery", () => {
    const request = { kind: "settle", verb: "reject", deliveryIds: ["?"], delaySeconds: 0 } as const;
    expect(lanesOf(request)).toEqual({ queues: [], changes: [] });
  });
});

describe("a command waits", () => {
  const queues = (...names: string[]): Lanes => ({ queues: names, changes: [] });
  const routed: Lanes = { queues: ["q"], routes: "x", changes: [] };
  const changing: Lanes = { queues: [], changes: ["x"] };
  it.each<[string, Lanes, Lanes, boolean]>([
    ["behind one of its queue", queues("a"), queues("a"), true],
    ["behind one of one of its queues", queues("a", "b"), queues("c", "b"), true],
    ["for none of another queue", queues("a"), queues("b"), false],
    ["for none that touches nothing", queues(), queues("a"), false],
    ["to be routed as the exchange will be", changing, routed, true],
    ["to change an exchange until what came before is routed by it", routed, changing, true],
    ["to change an exchange after another change of it", changing, changing, true],
    ["not for another publish by the exchange", { queues: ["p"], routes: "x", changes: [] }, routed, false],
    ["for the change of any exchange: it may be an alternate", { queues: [], changes: ["y"] }, routed, true],
    ["not to change another exchange", { queues: [], changes: ["y"] }, changing, false],
    ["not to change an exchange while another one routes", { queues: [], routes: "y", changes: [] }, changing, false],
    ["for no exchange when it asks none", changing, queues("a"), false],
  ])("%s", (_, earlier, later, waits) => {
    const held = new HeldLanes();
    expect(held.block(later)).toBe(false);
    held.hold(earlier);
    expect(held.block(later)).toBe(waits);
  });
});
