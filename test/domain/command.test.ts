import { describe, expect, it } from "vitest";
import { HeldLanes, type Lanes, laneOfQueue, lanesOf, type Request } from "../../shared/domain/command.ts";
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
  it("of what need not be persisted is, though its queue had it already", () => {
    expect(isHandedOn({ messages: [message(["0"])], completed: true, isHandedOn: true })).toBe(true);
  });
});

describe("what a command touches", () => {
  const idOn = (name: string) =>
    deliveryId({ run: { name, generation: "g", partition: 0, position: 0 }, index: 0, token: "t" });
  const settings = { type: "direct", alternateExchange: null } as const;
  const binding = { exchange: "x", queue: "q", key: "k" };
  const none: Lanes = { queues: [], names: [], routes: [], changes: [] };
  it.each<[string, Request, Partial<Lanes>]>([
    ["enqueue", { kind: "enqueue", queue: "q" }, { queues: ["q"] }],
    ["declare", { kind: "declare-queue", queue: "q", settings: defaultSettings }, { queues: ["q"], names: ["q"] }],
    ["delete", { kind: "delete-queue", queue: "q", ifEmpty: false, ifUnused: false }, { queues: ["q"], names: ["q"] }],
    ["publish", { kind: "publish", exchange: "x", routingKey: "k", mandatory: false }, { routes: ["x"] }],
    [
      "accept",
      { kind: "settle", verb: "accept", deliveryIds: [idOn("a"), idOn("b"), idOn("a")], delaySeconds: 0 },
      { queues: ["a", "b"] },
    ],
    ["what is no delivery", { kind: "settle", verb: "reject", deliveryIds: ["?"], delaySeconds: 0 }, {}],
    ["an exchange's declare", { kind: "declare-exchange", exchange: "x", settings }, { changes: ["x"] }],
    [
      "a declare that names an alternate",
      { kind: "declare-exchange", exchange: "x", settings: { type: "direct", alternateExchange: "y" } },
      { changes: ["x", "y"] },
    ],
    ["an exchange's delete", { kind: "delete-exchange", exchange: "x" }, { changes: ["x"] }],
    ["bind", { kind: "bind", binding, arguments: {} }, { names: ["q"], changes: ["x"] }],
    ["unbind", { kind: "unbind", binding }, { names: ["q"], changes: ["x"] }],
  ])("%s", (_, request, lanes) => {
    expect(lanesOf(request)).toEqual({ ...none, ...lanes });
  });

  it("the part of a settle that one queue has", () => {
    expect(laneOfQueue("q")).toEqual({ ...none, queues: ["q"] });
  });

  const lanes = (some: Partial<Lanes>): Lanes => ({ ...none, ...some });
  it.each<[string, Lanes, Lanes, boolean]>([
    ["behind one of its queue", lanes({ queues: ["a"] }), lanes({ queues: ["a"] }), true],
    ["behind one of one of its queues", lanes({ queues: ["a", "b"] }), lanes({ queues: ["c", "b"] }), true],
    ["for none of another queue", lanes({ queues: ["a"] }), lanes({ queues: ["b"] }), false],
    ["for none when it touches nothing", lanes({}), lanes({ queues: ["a"] }), false],
    ["to bind a queue until it is declared", lanes({ queues: ["a"], names: ["a"] }), lanes({ names: ["a"] }), true],
    ["to delete a queue until it is bound", lanes({ names: ["a"] }), lanes({ queues: ["a"], names: ["a"] }), true],
    ["not to bind a queue while messages come to it", lanes({ queues: ["a"] }), lanes({ names: ["a"] }), false],
    ["not to enqueue while the queue is bound", lanes({ names: ["a"] }), lanes({ queues: ["a"] }), false],
    ["to be routed as an exchange will be", lanes({ changes: ["x"] }), lanes({ routes: ["y", "x"] }), true],
    [
      "to change an exchange until what came before is routed",
      lanes({ routes: ["x"] }),
      lanes({ changes: ["x"] }),
      true,
    ],
    ["to change an exchange after another change", lanes({ changes: ["x"] }), lanes({ changes: ["y", "x"] }), true],
    ["not for another publish by the exchange", lanes({ routes: ["x"] }), lanes({ routes: ["x"] }), false],
    ["not for the change of another exchange", lanes({ changes: ["x"] }), lanes({ routes: ["y"] }), false],
    ["not to change another exchange", lanes({ changes: ["x"] }), lanes({ changes: ["y"] }), false],
    ["not to change an exchange while another one routes", lanes({ routes: ["x"] }), lanes({ changes: ["y"] }), false],
  ])("a command waits %s", (_, earlier, later, waits) => {
    const held = new HeldLanes();
    expect(held.block(later)).toBe(false);
    held.hold(earlier);
    expect(held.block(later)).toBe(waits);
    for (const exchange of ["x", "y"]) expect(held.changes(exchange)).toBe(earlier.changes.includes(exchange));
  });
});
