import { describe, expect, it } from "vitest";
import type { Answer } from "../support/http.ts";
import {
  availableOn,
  begin,
  bodiesOf,
  expectOk,
  expectRefused,
  newQueue,
  newSession,
  stateOf,
  take,
} from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { idsOf } from "../support/outcomes.ts";
import { useService } from "../support/service.ts";

const service = useService();
const c = service.client;

const pathsOf = (answer: Answer<unknown>): readonly string[] | undefined =>
  answer.problem?.errors?.map((error) => error.path);

/** An xid that is wrong, and why. */
const wrongXids: Record<string, string> = {
  "leading zero": "01.ab.",
  "all zeros": "00.ab.",
  "upper-case hex": "1.AB.",
  "upper-case hex in the bqual": "1.ab.CD",
  "odd digits": "1.abc.",
  "odd digits in the bqual": "1.ab.c",
  "65 bytes of gtrid": `1.${"ab".repeat(65)}.`,
  "65 bytes of bqual": `1.ab.${"ab".repeat(65)}`,
  "format id 2^31": "2147483648.ab.",
  "format id of many digits": `${"9".repeat(40)}.ab.`,
  "negative format id": "-1.ab.",
  "no gtrid": "1..ab",
  "two parts": "1.ab",
  "four parts": "1.ab.cd.ef",
  "no hex": "1.zz.",
  words: "not-an-xid",
};

describe("a wrong Xid", () => {
  it.each(Object.entries(wrongXids))(
    "%s: 400 in a header and in a path, and nothing is written",
    async (_what, xid) => {
      const s = await newSession(c);
      const queue = await newQueue(c, ["a"]);
      const ids = idsOf(await take(c, queue));
      const inHeader = [
        await s.within(xid).enqueue(queue, [{ body: "never" }]),
        await s.within(xid).acquire(queue),
        await s.within(xid).accept(ids),
      ];
      for (const answer of inHeader) {
        expectRefused(answer, "invalid-argument");
        expect(pathsOf(answer)).toEqual(["headers.Xid"]);
      }
      const inPath = [await s.start(xid), await s.prepare(xid), await s.getBranch(xid), await s.setTimeout(xid, 5)];
      for (const answer of inPath) {
        expectRefused(answer, "invalid-argument");
        expect(pathsOf(answer)).toEqual(["xid"]);
        expect(answer.receipt.wru).toBe(0);
      }
      expect(await c.stats(queue)).toMatchObject({ available: "0", leased: "1", enqueued: "1" });
    },
  );
});

describe("a wrong session", () => {
  const headers: Record<string, [Record<string, string>, string]> = {
    "a session without an epoch": [{ session: "s" }, "headers.Session-Epoch"],
    "an epoch without a session": [{ "session-epoch": "1" }, "headers.Session"],
    "an epoch that is no number": [{ session: "s", "session-epoch": "one" }, "headers.Session-Epoch"],
    "epoch 0": [{ session: "s", "session-epoch": "0" }, "headers.Session-Epoch"],
    "a negative epoch": [{ session: "s", "session-epoch": "-1" }, "headers.Session-Epoch"],
    "half an epoch": [{ session: "s", "session-epoch": "1.5" }, "headers.Session-Epoch"],
    "an epoch with a sign": [{ session: "s", "session-epoch": "+1" }, "headers.Session-Epoch"],
    "an epoch in another base": [{ session: "s", "session-epoch": "0x1" }, "headers.Session-Epoch"],
    "an endless epoch": [{ session: "s", "session-epoch": "9".repeat(30) }, "headers.Session-Epoch"],
    "an empty epoch": [{ session: "s", "session-epoch": "" }, "headers.Session-Epoch"],
    "two epochs": [{ session: "s", "session-epoch": "1,2" }, "headers.Session-Epoch"],
    "a name with a slash": [{ session: "a/b", "session-epoch": "1" }, "headers.Session"],
    "the name ..": [{ session: "..", "session-epoch": "1" }, "headers.Session"],
    "an empty name": [{ session: "", "session-epoch": "1" }, "headers.Session"],
    "a name of 128 characters": [{ session: "x".repeat(128), "session-epoch": "1" }, "headers.Session"],
  };

  it.each(Object.entries(headers))("%s is 400 in every call that takes one", async (_what, [wrong, path]) => {
    const queue = await newQueue(c, ["a"]);
    const messages = { messages: [{ body: "never" }] };
    const xid = newXid();
    const answers = [
      await c.call("POST", `/queues/${queue}/messages`, { body: messages, headers: wrong }),
      await c.call("POST", `/queues/${queue}/deliveries`, { headers: wrong }),
      await c.call("POST", `/dtx/${xid}/start`, { headers: wrong }),
      await c.call("POST", `/dtx/${xid}/end`, { headers: wrong }),
    ];
    for (const answer of answers) {
      expectRefused(answer, "invalid-argument");
      expect(pathsOf(answer)).toContain(path);
      expect(answer.receipt).toEqual({ wru: 0, rru: 0 });
    }
    expect(await bodiesOf(c, queue)).toEqual(["a"]);
    expect(await stateOf(c, xid)).toBe("none");
  });

  it("start and end without one is command-invalid; message work with an Xid alone is illegal-state", async () => {
    const queue = await newQueue(c, ["a"]);
    const s = await newSession(c);
    const xid = newXid();
    await begin(s, xid);
    expectRefused(await c.start(newXid()), "command-invalid");
    expectRefused(await c.end(xid), "command-invalid");
    expectRefused(await c.within(xid).enqueue(queue, [{ body: "never" }]), "illegal-state");
    const ids = idsOf(await take(c, queue));
    expectRefused(await c.within(xid).accept(ids), "illegal-state");
    expect(await stateOf(c, xid)).toBe("active");
  });

  it("message work of a session that is not associated, or suspended, is illegal-state", async () => {
    const queue = await newQueue(c, ["a"]);
    const [s, other] = [await newSession(c), await newSession(c)];
    const xid = newXid();
    await begin(s, xid);
    const ids = idsOf(await take(c, queue));
    const refused = async (by: typeof c, code: "illegal-state" | "not-found", branch = xid) => {
      expectRefused(await by.within(branch).enqueue(queue, [{ body: "never" }]), code);
      expectRefused(await by.within(branch).acquire(queue), code);
      expectRefused(await by.within(branch).accept(ids), code);
    };
    await refused(other, "illegal-state");
    await s.end(xid, { suspend: true });
    await refused(s, "illegal-state");
    expect(await availableOn(c, queue)).toEqual([0]);
    expect(await stateOf(c, xid)).toBe("suspended");
  });

  it("the order of checks: syntax, then the fence, then flags, then state", async () => {
    const s = await newSession(c);
    const xid = newXid();
    await begin(s, xid);
    const old = await newSession(c);
    await c.attach(old.context.session ?? "");
    expectRefused(await old.call("POST", `/dtx/${xid}/start`, { body: { join: 1 } }), "invalid-argument");
    expectRefused(await old.start(xid, { join: true, resume: true }), "session-fenced");
    expectRefused(await s.start(xid, { join: true, resume: true }), "command-invalid");
    expectRefused(await s.start(xid), "not-allowed");
  });
});

describe("a wrong Idempotency-Key", () => {
  it.each(["x".repeat(256), "a b", "tab\there", "caf\u00e9", ""])("%j is 400, and nothing is written", async (key) => {
    const queue = await newQueue(c);
    const answer = await c.enqueue(queue, [{ body: "never" }], { "idempotency-key": key });
    expectRefused(answer, "invalid-argument");
    expect(pathsOf(answer)).toEqual(["headers.Idempotency-Key"]);
    expect(await availableOn(c, queue)).toEqual([0]);
  });
});

describe("reserved names", () => {
  it.each(["amq.x", "amq.", "amq.direct", `amq.${"x".repeat(123)}`])(
    "%s is not-allowed for a queue and a session",
    async (name) => {
      expectRefused(await c.declare(name), "not-allowed");
      expectRefused(await c.getQueue(name), "not-found");
      expectRefused(await c.attach(name), "not-allowed");
      expectRefused(await c.getSession(name), "not-found");
    },
  );

  it.each(["amq", "amqp.x", "AMQ.x", "x.amq.y"])("%s is not reserved", async (name) => {
    expectOk(await c.declare(name), 201);
  });
});

describe("an error", () => {
  it("never changes the branch that the call named, and never closes the session", async () => {
    const s = await newSession(c);
    const queue = await newQueue(c, ["a"]);
    const xid = newXid();
    const branch = await begin(s, xid);
    expectOk(await branch.enqueue(queue, [{ body: "kept" }]), 201);
    const refused = [
      await branch.enqueue(queue, []),
      await branch.enqueue(unique("missing"), [{ body: "x" }]),
      await branch.enqueue(queue, [{ body: "x".repeat(1024 * 1024 + 1) }]),
      await branch.acquire(unique("missing")),
      await branch.accept(["nonsense"]),
      await branch.release([]),
      await branch.acquire(queue, { settle: "none" }),
      await s.start(xid),
      await s.prepare(xid),
      await s.commit(xid),
      await s.rollback(xid),
      await s.forget(xid),
      await s.heuristic(xid, "commit"),
      await s.setTimeout(xid, 3601),
      await s.end(xid, { fail: true, suspend: true }),
    ];
    for (const answer of refused) expect(answer.status).toBeGreaterThanOrEqual(400);
    for (const answer of refused) expect(answer.status).toBeLessThan(500);
    expect(await stateOf(c, xid)).toBe("active");
    expectOk(await s.keepAlive(s.context.session ?? ""));
    expectOk(await s.end(xid));
    expectOk(await s.commit(xid, { onePhase: true }));
    expect(await bodiesOf(c, queue)).toEqual(["a", "kept"]);
  });
});
