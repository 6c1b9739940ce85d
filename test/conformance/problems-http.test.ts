import { describe, expect, it } from "vitest";
import { routes } from "../../cdk/routes.ts";
import { exchange } from "../local/raw-http.ts";
import { availableOn, bodiesOf, expectOk, expectRefused, newQueue, newQueues } from "../support/moves.ts";
import { newXid, unique } from "../support/names.ts";
import { checkProblem } from "../support/problems.ts";
import { useService } from "../support/service.ts";

const service = useService();
const c = service.client;

/** A request of which every byte of the path is the test's own choice; what is refused is held against the contract. */
async function raw(method: string, path: string): Promise<{ status: number; code: string | undefined }> {
  const answer = await exchange(Number(new URL(service.baseUrl).port), { method, path });
  expect(answer.headers["consumed-capacity"], path).toMatch(/^wru=[\d.]+, rru=[\d.]+$/);
  if (answer.status < 400) return { status: answer.status, code: undefined };
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
  const problem = checkProblem(answer.status, path, JSON.parse(answer.text));
  return { status: answer.status, code: problem.code };
}

describe("a body that cannot be read", () => {
  const malformed: Record<string, string> = {
    "not JSON": "hello",
    "cut off": '{"messages":[{"body":"x"}',
    "two values": '{"messages":[{"body":"x"}]}{}',
    "a trailing comma": '{"messages":[{"body":"x"},]}',
    "single quotes": "{'messages':[{'body':'x'}]}",
    "a control character in text": '{"messages":[{"body":"\n"}]}',
    "only white space": "   ",
    NaN: '{"messages":[{"body":"x","priority":NaN}]}',
    "a bad escape": '{"messages":[{"body":"\\x41"}]}',
  };

  it.each(Object.entries(malformed))("%s is 400 on every route that takes one", async (_what, rawBody) => {
    const queue = await newQueue(c, ["a"]);
    const session = unique("malformed");
    const xid = newXid();
    const calls = [
      ["POST", `/queues/${queue}/messages`],
      ["PUT", `/queues/${unique("never")}`],
      ["POST", `/queues/${queue}/deliveries`],
      ["POST", `/queues/${queue}/purge`],
      ["POST", "/deliveries/accept"],
      ["PUT", `/sessions/${session}`],
      ["POST", `/dtx/${xid}/commit`],
      ["POST", "/recovery"],
    ] as const;
    for (const [method, path] of calls) {
      const answer = await c.call(method, path, { rawBody });
      expectRefused(answer, "invalid-argument");
      expect(answer.problem?.errors, path).toHaveLength(1);
      expect(answer.receipt).toEqual({ wru: 0, rru: 0 });
    }
    expect(await bodiesOf(c, queue)).toEqual(["a"]);
    expectRefused(await c.getSession(session), "not-found");
  });

  it("bytes that are not UTF-8 are 400, not something else that looks like them", async () => {
    const queue = await newQueue(c);
    const head = Buffer.from('{"messages":[{"body":"');
    const tail = Buffer.from('"}]}');
    for (const bytes of [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
      const rawBody = new Uint8Array(Buffer.concat([head, Buffer.from(bytes), tail]));
      expectRefused(await c.call("POST", `/queues/${queue}/messages`, { rawBody }), "invalid-argument");
    }
    expect(await availableOn(c, queue)).toEqual([0]);
  });

  it("deep nesting is refused, and the service goes on", async () => {
    const queue = await newQueue(c);
    for (const rawBody of ["[".repeat(200_000), `{"messages":${"[".repeat(20_000)}${"]".repeat(20_000)}}`]) {
      expectRefused(await c.call("POST", `/queues/${queue}/messages`, { rawBody }), "invalid-argument");
    }
    expect(await availableOn(c, queue)).toEqual([0]);
  });
});

describe("the content type", () => {
  const path = async () => `/queues/${await newQueue(c)}/messages`;
  const body = { messages: [{ body: "é" }] };

  it.each(["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"])(
    "%s is taken",
    async (type) => {
      expectOk(await c.call("POST", await path(), { body, headers: { "content-type": type } }), 201);
    },
  );

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/xml",
    "application/json; charset=iso-8859-1",
    "multipart/form-data; boundary=x",
    "application/jsonp",
  ])("%s is 400", async (type) => {
    const queue = await newQueue(c);
    const answer = await c.call("POST", `/queues/${queue}/messages`, { body, headers: { "content-type": type } });
    expectRefused(answer, "invalid-argument");
    expect(answer.problem?.errors?.map((error) => error.path)).toEqual(["headers.Content-Type"]);
    expect(await availableOn(c, queue)).toEqual([0]);
  });
});

describe("a large request", () => {
  const MIB = 1024 * 1024;

  it("of 6 MiB is 413 on every kind of route, and nothing is written", async () => {
    const queue = await newQueue(c);
    const name = unique("large");
    const messages = Array.from({ length: 6 }, () => ({ body: "x".repeat(MIB) }));
    expectRefused(await c.enqueue(queue, messages), "payload-too-large");
    const rawBody = JSON.stringify({ pad: "x".repeat(6 * MIB) });
    for (const [method, path] of [
      ["PUT", `/queues/${name}`],
      ["POST", "/deliveries/accept"],
      ["PUT", `/sessions/${name}`],
      ["POST", `/dtx/${newXid()}/commit`],
    ] as const) {
      expectRefused(await c.call(method, path, { rawBody }), "payload-too-large");
    }
    expect(await availableOn(c, queue)).toEqual([0]);
    expectRefused(await c.getQueue(name), "not-found");
  });

  it("of 30 MiB is 413 too, and the service goes on", async () => {
    const queue = await newQueue(c);
    const rawBody = JSON.stringify({ messages: [{ body: "x".repeat(30 * MIB) }] });
    const answer = await c.call("POST", `/queues/${queue}/messages`, { rawBody });
    expectRefused(answer, "payload-too-large");
    // The service's own bound, although the gateway's is another.
    expect(answer.problem?.detail).toBe(`a request has at most ${5 * MIB} bytes`);
    expectOk(await c.enqueue(queue, [{ body: "small" }]), 201);
  });

  it("of exactly 5 MiB as sent is taken, one byte more is not; escapes count as sent", async () => {
    const queue = await newQueue(c);
    const envelope = (bodies: string[]) => `{"messages":[${bodies.map((body) => `{"body":"${body}"}`).join(",")}]}`;
    const escaped = "\\u0041".repeat(170_000);
    const fill = (size: number) => {
      const bodies = Array.from({ length: 5 }, () => escaped);
      const rest = size - Buffer.byteLength(envelope([...bodies, ""]));
      return envelope([...bodies, "x".repeat(rest)]);
    };
    const exact = fill(5 * MIB);
    expect(Buffer.byteLength(exact)).toBe(5 * MIB);
    expectOk(await c.call("POST", `/queues/${queue}/messages`, { rawBody: exact }), 201);
    expectRefused(
      await c.call("POST", `/queues/${queue}/messages`, { rawBody: fill(5 * MIB + 1) }),
      "payload-too-large",
    );
    const [first] = await bodiesOf(c, queue);
    expect(first).toBe("A".repeat(170_000));
    expect(await availableOn(c, queue)).toEqual([6]);
  });
});

describe("query parameters", () => {
  const wrong: readonly (readonly [path: string, parameter: string])[] = [
    ["/queues?limit=0", "limit"],
    ["/queues?limit=501", "limit"],
    ["/queues?limit=-1", "limit"],
    ["/queues?limit=1.5", "limit"],
    ["/queues?limit=ten", "limit"],
    ["/queues?limit=", "limit"],
    ["/queues?limit=1&limit=2", "limit"],
    ["/queues?prefix=a%2Fb", "prefix"],
    ["/queues?cursor=%25%25", "cursor"],
    ["/queues?cursor=..", "cursor"],
    ["/queues?after=x", "after"],
    ["/queues/Q/messages?limit=0", "limit"],
    ["/queues/Q/messages?limit=501", "limit"],
    ["/queues/Q/messages?after=x", "after"],
    ["/queues/Q/messages?after=-1", "after"],
    ["/queues/Q/messages?after=1.5", "after"],
    [`/queues/Q/messages?after=${"9".repeat(40)}`, "after"],
    ["/queues/Q/messages?cursor=no%20cursor", "cursor"],
    ["/queues/Q/messages?prefix=a", "prefix"],
    ["/queues/Q?verbose=true", "verbose"],
    ["/dtx?limit=0", "limit"],
    ["/dtx?limit=501", "limit"],
    ["/dtx?state=active", "state"],
    ["/dtx?cursor=nonsense", "cursor"],
    ["/dtx?xid=1.aa.", "xid"],
  ];

  it.each(wrong)("GET %s is 400", async (path, parameter) => {
    const queue = await newQueue(c);
    const answer = await c.call("GET", path.replace("/Q", `/${queue}`));
    expectRefused(answer, "invalid-argument");
    expect(answer.problem?.errors?.map((error) => error.path)).toEqual([`query.${parameter}`]);
    expect(answer.receipt.wru).toBe(0);
  });

  it.each([
    ["GET", "/queues?limit=1&limit=2", "limit"],
    ["GET", "/queues?prefix=a&limit=1&prefix=a", "prefix"],
    ["DELETE", "/exchanges/amq.topic/bindings?queue=q&bindingKey=a&bindingKey=b", "bindingKey"],
  ])("%s %s says that it may be given only once", async (method, path, parameter) => {
    const answer = await c.call(method, path);
    expectRefused(answer, "invalid-argument");
    expect(answer.problem?.errors).toEqual([{ path: `query.${parameter}`, message: "may be given only once" }]);
  });

  it.each(["ifEmpty=yes", "ifEmpty=1", "ifUnused=", "ifUnused=TRUE", "if-empty=true", "force=true"])(
    "DELETE with %s is 400, and deletes nothing",
    async (query) => {
      const queue = await newQueue(c);
      expectRefused(await c.call("DELETE", `/queues/${queue}?${query}`), "invalid-argument");
      expectOk(await c.getQueue(queue));
    },
  );

  it("a wrong cursor in POST /recovery is 400", async () => {
    const answer = await c.recovery("nonsense");
    expectRefused(answer, "invalid-argument");
    expect(answer.problem?.errors?.map((error) => error.path)).toEqual(["cursor"]);
  });
});

describe("paths", () => {
  it.each([
    "a%2Fb",
    "a%20b",
    "%00",
    "%2e%2e",
    "%2E",
    "caf%C3%A9",
    "a%0Ab",
    "%F0%9D%84%9E",
    "a%25",
    "x".repeat(128),
    "a%3Fb",
    "a%23b",
    "a+b",
    "a~b",
    "a:b",
  ])("a name like %s is 400", async (name) => {
    for (const [method, path] of [
      ["PUT", `/queues/${name}`],
      ["GET", `/queues/${name}`],
      ["DELETE", `/queues/${name}`],
      ["GET", `/queues/${name}/messages`],
      ["PUT", `/sessions/${name}`],
      ["GET", `/sessions/${name}`],
    ] as const) {
      expect(await raw(method, path), `${method} ${path}`).toEqual({ status: 400, code: "invalid-argument" });
    }
  });

  it.each(["%", "%zz", "%E9", "%C3", "%ED%A0%80", "a%2"])("%s is no percent-encoded UTF-8: 400", async (name) => {
    expect(await raw("GET", `/queues/${name}`)).toEqual({ status: 400, code: "invalid-argument" });
    expect(await raw("PUT", `/queues/${name}`)).toEqual({ status: 400, code: "invalid-argument" });
  });

  it("a name may be percent-encoded: it is the same queue", async () => {
    const [queue] = (await newQueues(c, 1)) as [string];
    const encoded = [...queue].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join("");
    expect((await raw("GET", `/queues/${encoded}`)).status).toBe(200);
    expect((await raw("PUT", `/queues/${encoded}`)).status).toBe(200);
  });

  it.each([
    "/",
    "/queue",
    "/queues/",
    "/queues//messages",
    "/queues/a/b/c",
    "/Queues",
    "/queues/a/messages/",
    "/deliveries",
    "/dtx/1.aa./",
    "/dtx/1.aa./unknown",
    "/sessions",
    "/../queues",
    "//queues",
    "/health/x",
    "/lambdas/health",
  ])("%s leads nowhere: 404", async (path) => {
    for (const method of ["GET", "POST", "PUT", "DELETE"]) {
      expect(await raw(method, path), method).toEqual({ status: 404, code: "not-found" });
    }
  });

  it("another method than a path has is 405, and says which it has", async () => {
    const methodsOf = new Map<string, string[]>();
    for (const { path, method } of routes) methodsOf.set(path, [...(methodsOf.get(path) ?? []), method]);
    for (const [path, methods] of methodsOf) {
      const concrete = path.replace("{xid}", newXid()).replace(/\{\w+\}/, unique("never"));
      for (const method of ["GET", "PUT", "POST", "DELETE", "PATCH"].filter((each) => !methods.includes(each))) {
        const answer = await c.call(method, concrete);
        expectRefused(answer, "method-not-allowed");
        expect(answer.headers.get("allow")?.split(", ").toSorted()).toEqual(methods.toSorted());
      }
    }
  });
});
