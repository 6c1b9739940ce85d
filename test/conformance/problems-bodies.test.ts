import { describe, expect, it } from "vitest";
import { browseAll, expectOk, expectRefused, newQueue, newSession, take } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { useService } from "../support/service.ts";

const service = useService();
const c = service.client;

/** What is wrong with a body, the body, and the path that the refusal must name. */
type Row = readonly [what: string, body: unknown, path: string];

/** A body that is right but for `fields`. */
const message = (fields: object): object => ({ messages: [{ body: "x" }, { body: "x", ...fields }] });
const at = (field: string): string => `messages[1].${field}`;

const notStrings: readonly unknown[] = [null, 1, true, {}, [], ["x"]];
const notIntegers: readonly unknown[] = [null, "1", true, {}, [1], 1.5, -1, 1e300];
const notFlags: readonly unknown[] = [null, "true", 1, {}];

/** A row for each wrong value of a field. */
const each = (values: readonly unknown[], field: string, path: string, of: (fields: object) => object): Row[] =>
  values.map((value) => [`${field} ${JSON.stringify(value)}`, of({ [field]: value }), path]);

const tooLong = "x".repeat(256);

const enqueueRows: Row[] = [
  ["no messages", {}, "messages"],
  ["messages null", { messages: null }, "messages"],
  ["messages an object", { messages: { 0: { body: "x" } } }, "messages"],
  ["an empty list", { messages: [] }, "messages"],
  ["501 messages", { messages: Array.from({ length: 501 }, () => ({ body: "x" })) }, "messages"],
  ["a message that is null", { messages: [{ body: "x" }, null] }, "messages[1]"],
  ["a message that is text", { messages: ["x"] }, "messages[0]"],
  ["a message that is a list", { messages: [[]] }, "messages[0]"],
  ["an unknown field", { messages: [{ body: "x" }], priority: 1 }, "priority"],
  ["an unknown field of a message", message({ Body: "x" }), at("Body")],
  ["a routing key", { messages: [{ body: "x" }], routingKey: "a" }, "routingKey"],
  ["no body", { messages: [{ body: "x" }, {}] }, at("body")],
  ...notStrings.flatMap((value): Row[] => [
    [`body ${JSON.stringify(value)}`, message({ body: value }), at("body")],
    ...["contentType", "messageId", "correlationId", "replyTo", "deduplicationId"].map(
      (field): Row => [`${field} ${JSON.stringify(value)}`, message({ [field]: value }), at(field)],
    ),
  ]),
  ...["contentType", "messageId", "correlationId", "replyTo", "deduplicationId"].flatMap((field): Row[] => [
    [`${field} empty`, message({ [field]: "" }), at(field)],
    [`${field} of 256 characters`, message({ [field]: tooLong }), at(field)],
    [`${field} with half of a pair`, message({ [field]: "a\ud800" }), at(field)],
  ]),
  ["a body with half of a pair", message({ body: "\udc00x" }), at("body")],
  ["an unknown encoding", message({ bodyEncoding: "hex" }), at("bodyEncoding")],
  ["encoding null", message({ bodyEncoding: null }), at("bodyEncoding")],
  ...["=", "a", "ab", "abc", "AA=A", "AAAA=", "A A A A", "AA_-", "AAAA\n", "éé", "AAA=AAAA", "//=="].map(
    (body): Row => [`base64 ${JSON.stringify(body)}`, message({ body, bodyEncoding: "base64" }), at("body")],
  ),
  ["an unknown delivery mode", message({ deliveryMode: "durable" }), at("deliveryMode")],
  ...each([...notIntegers, 0, 1e12], "ttlSeconds", at("ttlSeconds"), message),
  ...each([...notIntegers, 10], "priority", at("priority"), message),
  ...each([null, "k=v", 1, [], ["k"]], "headers", at("headers"), message),
  ...[null, {}, [], ["v"]].map(
    (value): Row => [`a header ${JSON.stringify(value)}`, message({ headers: { k: value } }), at("headers.k")],
  ),
  ["a header with half of a pair", message({ headers: { k: "\ud800" } }), at("headers.k")],
  ["headers over 16 KB", message({ headers: { k: "v".repeat(16 * 1024) } }), at("headers")],
];

const settingsRows: Row[] = [
  ["an unknown field", { maxLength: 1 }, "maxLength"],
  ["stats", { stats: {} }, "stats"],
  ["a name", { queue: "q" }, "queue"],
  ...["leaseSeconds", "maxDeliveries", "partitions"].flatMap((field) =>
    each(notIntegers, field, field, (fields) => fields),
  ),
  ...["messageTtlSeconds", "retentionSeconds", "maxMessages", "maxBytes"].flatMap((field) =>
    each([...notIntegers.slice(1), 0], field, field, (fields) => fields),
  ),
  ["leaseSeconds 0", { leaseSeconds: 0 }, "leaseSeconds"],
  ["leaseSeconds over 12 h", { leaseSeconds: 43_201 }, "leaseSeconds"],
  ["partitions 0", { partitions: 0 }, "partitions"],
  ...each(["sometimes", null, true], "messageDurability", "messageDurability", (fields) => fields),
  ...each(["drop", null, false], "overflow", "overflow", (fields) => fields),
  ...each(notFlags, "strictOrder", "strictOrder", (fields) => fields),
  ...each(
    [1, {}, [], "", ".", "..", "a b", "a/b", "é", "x".repeat(128)],
    "deadLetterQueue",
    "deadLetterQueue",
    (f) => f,
  ),
];

const acquireRows: Row[] = [
  ["an unknown field", { max: 1 }, "max"],
  ...each([...notIntegers, 0, 501], "maxMessages", "maxMessages", (fields) => fields),
  ...each([...notIntegers, 21], "waitSeconds", "waitSeconds", (fields) => fields),
  ...each([...notIntegers, 0, 43_201], "leaseSeconds", "leaseSeconds", (fields) => fields),
  ...each(["all", null, true, ""], "settle", "settle", (fields) => fields),
];

/** Rows for a body that may have no other shape than an object. */
const notObjects: readonly Row[] = ([null, 1, "x", true, [], [{}]] as const).map((body) => [
  `a body that is ${JSON.stringify(body)}`,
  body,
  "",
]);

/** Sends each row's body and requires the refusal to name its path; a message tells of each error. */
async function expectRows(method: string, path: string, rows: readonly Row[], headers = {}): Promise<void> {
  for (const [what, body, wanted] of rows) {
    const answer = await c.call(method, path, { body, headers });
    expectRefused(answer, "invalid-argument");
    const paths = answer.problem?.errors?.map((error) => error.path);
    expect(paths, `${what}: ${answer.problem?.detail}`).toContain(wanted);
    expect(answer.receipt.wru, `${what} writes nothing`).toBe(0);
  }
}

describe("wrong bodies are 400, say where, and write nothing", () => {
  it("enqueue", async () => {
    const queue = await newQueue(c);
    await expectRows("POST", `/queues/${queue}/messages`, [...enqueueRows, ...notObjects]);
    expect(await c.stats(queue)).toMatchObject({ available: "0", enqueued: "0", changeCounter: "0" });
  });

  it("enqueue of what is no message says what one is", async () => {
    const { problem } = await c.call("POST", `/queues/${await newQueue(c)}/messages`, { body: { messages: [null] } });
    expect(problem?.errors).toEqual([{ path: "messages[0]", message: "must be an object" }]);
  });

  it("enqueue, with every wrong field named at once", async () => {
    const queue = await newQueue(c);
    const body = {
      messages: [{ body: 1, priority: "x" }, { body: "right" }, { bodyEncoding: "hex", what: 1 }],
      more: 1,
    };
    const { problem } = await c.call("POST", `/queues/${queue}/messages`, { body });
    expect(problem?.errors?.map((error) => error.path).toSorted()).toEqual(
      [
        "messages[0].body",
        "messages[0].priority",
        "messages[2].body",
        "messages[2].bodyEncoding",
        "messages[2].what",
        "more",
      ].toSorted(),
    );
  });

  it("the example of the contract: a body left out is required", async () => {
    const queue = await newQueue(c);
    const body = { messages: [{ body: "" }, { body: "" }, { body: "" }, { messageId: "m" }] };
    const { problem } = await c.call("POST", `/queues/${queue}/messages`, { body });
    expect(problem?.errors).toEqual([{ path: "messages[3].body", message: "is required" }]);
  });

  it("declare", async () => {
    const queue = unique("wrong");
    await expectRows("PUT", `/queues/${queue}`, [...settingsRows, ...notObjects]);
    expectRefused(await c.declare(queue, { deadLetterQueue: queue }), "invalid-argument");
    expectRefused(await c.getQueue(queue), "not-found");
  });

  it("acquire", async () => {
    const queue = await newQueue(c, ["a"]);
    await expectRows("POST", `/queues/${queue}/deliveries`, [...acquireRows, ...notObjects]);
    expect(await take(c, queue)).toMatchObject([{ body: "a", deliveryCount: 1 }]);
  });

  it("accept, release, reject, extend", async () => {
    const queue = await newQueue(c, ["a"]);
    const [delivery] = await take(c, queue);
    const id = delivery?.deliveryId ?? "";
    const verbs = { accept: {}, release: {}, reject: {}, extend: { leaseSeconds: 60 } };
    for (const [verb, rest] of Object.entries(verbs)) {
      await expectRows("POST", `/deliveries/${verb}`, [
        ["no ids", rest, "deliveryIds"],
        ...each([null, id, {}, [], Array.from({ length: 501 }, () => id)], "deliveryIds", "deliveryIds", (f) => ({
          ...f,
          ...rest,
        })),
        ...[null, 1, {}, "", "x", "not-an-id", `${id}x`, id.slice(1), `${id}=`, "é", "x".repeat(2000)].map(
          (wrong): Row => [`the id ${JSON.stringify(wrong)}`, { deliveryIds: [id, wrong], ...rest }, "deliveryIds[1]"],
        ),
        ["an unknown field", { deliveryIds: [id], ...rest, xid: "1.aa." }, "xid"],
        ...notObjects,
      ]);
    }
    const ids = { deliveryIds: [id] };
    await expectRows("POST", "/deliveries/release", [
      ...each([...notIntegers, 1e9], "delaySeconds", "delaySeconds", (f) => ({ ...ids, ...f })),
      ...each(notStrings, "reason", "reason", (f) => ({ ...ids, ...f })),
    ]);
    await expectRows("POST", "/deliveries/reject", [
      ...each(notStrings, "reason", "reason", (f) => ({ ...ids, ...f })),
      ["a reason with half of a pair", { ...ids, reason: "\ud800" }, "reason"],
      ["a very long reason", { ...ids, reason: "x".repeat(1_000_000) }, "reason"],
      ["a delay", { ...ids, delaySeconds: 1 }, "delaySeconds"],
    ]);
    await expectRows("POST", "/deliveries/extend", [
      ["no leaseSeconds", ids, "leaseSeconds"],
      ...each([...notIntegers, 0, 43_201], "leaseSeconds", "leaseSeconds", (f) => ({ ...ids, ...f })),
    ]);
    expectOk(await c.accept([id]));
  });

  it("attach", async () => {
    const session = unique("wrong");
    await expectRows("PUT", `/sessions/${session}`, [
      ["an unknown field", { epoch: 1 }, "epoch"],
      ...each([...notIntegers, 0, 86_401], "timeoutSeconds", "timeoutSeconds", (fields) => fields),
      ...notObjects,
    ]);
    expectRefused(await c.getSession(session), "not-found");
  });

  it("calls that take no body: an unknown field, and what is no object", async () => {
    const queue = await newQueue(c, ["a"]);
    const rows: Row[] = [["an unknown field", { now: true }, "now"], ...notObjects];
    await expectRows("POST", `/queues/${queue}/purge`, rows);
    await expectRows("POST", "/recovery", rows);
    expect(await browseAll(c, queue)).toHaveLength(1);
  });

  it("the dtx verbs", async () => {
    const s = await newSession(c);
    const xid = newXid();
    const headers = { session: s.context.session ?? "", "session-epoch": "1" };
    const flags = (...names: string[]): Row[] =>
      names.flatMap((name) => each(notFlags, name, name, (fields) => fields));
    const unknown: Row[] = [["an unknown field", { xa: 1 }, "xa"], ...notObjects];
    const timeouts = each([...notIntegers, 3601], "timeoutSeconds", "timeoutSeconds", (fields) => fields);
    await expectRows("POST", `/dtx/${xid}/start`, [...flags("join", "resume"), ...timeouts, ...unknown], headers);
    await expectRows("POST", `/dtx/${xid}/end`, [...flags("fail", "suspend"), ...unknown], headers);
    await expectRows("POST", `/dtx/${xid}/commit`, [...flags("onePhase"), ...unknown]);
    for (const verb of ["prepare", "rollback", "forget"]) await expectRows("POST", `/dtx/${xid}/${verb}`, unknown);
    await expectRows("PUT", `/dtx/${xid}/timeout`, [["no timeout", {}, "timeoutSeconds"], ...timeouts, ...unknown]);
    await expectRows("POST", `/dtx/${xid}/heuristic`, [
      ["no outcome", {}, "outcome"],
      ...each(["COMMIT", null, true, ""], "outcome", "outcome", (fields) => fields),
      ...each(notStrings, "reason", "reason", (fields) => ({ outcome: "commit", ...fields })),
      ["a reason with half of a pair", { outcome: "commit", reason: "\ud800" }, "reason"],
      ["an unknown field", { outcome: "commit", why: "x" }, "why"],
    ]);
    expectRefused(await c.getBranch(xid), "not-found");
  });

  it("a field named __proto__ is an unknown field like others", async () => {
    const queue = unique("proto");
    const rawBody = '{"__proto__":{"leaseSeconds":1}}';
    const answer = await c.call("PUT", `/queues/${queue}`, { rawBody });
    expectRefused(answer, "invalid-argument");
    expect(answer.problem?.errors?.map((error) => error.path)).toEqual(["__proto__"]);
  });
});

describe("what a refusal names", () => {
  it("the setting that a redeclared queue has otherwise, and what it is", async () => {
    const queue = await newQueue(c, [], { leaseSeconds: 30, maxMessages: 5 });
    const answer = await c.declare(queue, { leaseSeconds: 31 });
    expectRefused(answer, "precondition-failed");
    expect(answer.problem?.detail).toContain("leaseSeconds is 30, not 31; maxMessages is 5, not null");
  });

  it("the message that is too large", async () => {
    const queue = await newQueue(c);
    const answer = await c.enqueue(queue, [{ body: "a" }, { body: "b".repeat(1024 * 1024 + 1) }]);
    expectRefused(answer, "payload-too-large");
    expect(answer.problem?.detail).toContain("messages[1].body");
  });

  it.each([[[]], ["text"], [1], [null]])("a body that is no object: %j", async (body) => {
    const answer = await c.call("PUT", `/queues/${unique()}`, { rawBody: JSON.stringify(body) });
    expectRefused(answer, "invalid-argument");
    expect(answer.problem?.detail).toBe("the body must be a JSON object");
  });
});
