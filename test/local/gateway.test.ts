import { afterEach, describe, expect, test } from "vitest";
import type { Route } from "../../cdk/routes.ts";
import type { Handler } from "../../local/handlers.ts";
import { type HttpApi, serve } from "../../local/http/serve.ts";
import { exchange, flood } from "./raw-http.ts";

const routes: readonly Route[] = [
  { method: "POST", path: "/things/{name}", lambda: "things/post", authorization: "iam", tableAccess: "read" },
  { method: "GET", path: "/things/{name}", lambda: "things/post", authorization: "iam", tableAccess: "read" },
  { method: "POST", path: "/things/special", lambda: "things/special", authorization: "iam", tableAccess: "read" },
  { method: "GET", path: "/open", lambda: "things/post", authorization: "none", tableAccess: "read" },
];

interface Seen {
  readonly [member: string]: unknown;
  readonly headers: Record<string, string>;
  readonly requestContext: Record<string, unknown>;
}

let api: HttpApi | undefined;
let log: string[] = [];

afterEach(async () => {
  await api?.close();
  api = undefined;
  log = [];
});

async function serving(handler: Handler, timeoutMs?: number): Promise<HttpApi> {
  api = await serve({
    routes,
    loadHandler: async (lambda) => (lambda === "things/special" ? () => "special" : handler),
    log: (line) => log.push(line),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  return api;
}

/** Serves a handler that keeps the last event it got. */
async function catching(): Promise<{ readonly api: HttpApi; readonly event: () => Seen }> {
  let last: unknown;
  const caught = await serving((event) => {
    last = event;
    return { statusCode: 204 };
  });
  return { api: caught, event: () => last as Seen };
}

describe("the event", () => {
  test.each([
    ["/things/a%20b", "a b"],
    ["/things/a%2Fb", "a/b"],
    ["/things/a%2520b", "a%20b"],
    ["/things/caf%C3%A9", "café"],
    ["/things/a+b", "a+b"],
    ["/things/..", ".."],
    ["/things/1.6f.", "1.6f."],
  ])("decodes the parameter in %s once", async (path, name) => {
    const { api, event } = await catching();
    const answer = await exchange(api.port, { path });
    expect(answer.status).toBe(204);
    expect(event()).toMatchObject({ rawPath: path, routeKey: "GET /things/{name}", pathParameters: { name } });
  });

  test.each([
    ["a=1&b=2&a=3", { a: "1,3", b: "2" }],
    ["a=%26%3D&b=x+y", { a: "&=", b: "x y" }],
    ["empty=&bare", { empty: "", bare: "" }],
    ["__proto__=x", Object.fromEntries([["__proto__", "x"]])],
  ])("has the query %s as sent and decoded", async (query, parameters) => {
    const { api, event } = await catching();
    await exchange(api.port, { path: `/open?${query}` });
    expect(event().rawQueryString).toBe(query);
    expect(event().queryStringParameters).toStrictEqual(parameters);
  });

  test("leaves out what the request has not", async () => {
    const { api, event } = await catching();
    await exchange(api.port, { path: "/open" });
    expect(event()).toMatchObject({ version: "2.0", rawQueryString: "", isBase64Encoded: false });
    for (const absent of ["body", "cookies", "queryStringParameters", "pathParameters"]) {
      expect(event()).not.toHaveProperty(absent);
    }
  });

  test("has header names in lower case, repeated values joined, cookies apart", async () => {
    const { api, event } = await catching();
    const headers = ["Host", "example.test:81", "X-Twice", "1", "x-twice", "2", "Cookie", "a=1; b=2", "Session", "S"];
    await exchange(api.port, { path: "/open", headers });
    expect(event().headers).toMatchObject({ "x-twice": "1,2", session: "S" });
    expect(event().cookies).toEqual(["a=1", "b=2"]);
    expect(event().requestContext).toMatchObject({ domainName: "example.test" });
  });

  test("names the caller on signed routes only, and tells of the request", async () => {
    const { api, event } = await catching();
    await exchange(api.port, { path: "/things/x?y=1", headers: ["User-Agent", "t/1"] });
    expect(event().requestContext).toMatchObject({
      authorizer: { iam: { userArn: "arn:aws:iam::000000000000:user/local" } },
      http: { method: "GET", path: "/things/x", protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "t/1" },
      stage: "$default",
      routeKey: "GET /things/{name}",
      accountId: "000000000000",
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      timeEpoch: expect.any(Number),
      time: expect.stringMatching(/^\d\d\/\w{3}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
    });
    await exchange(api.port, { path: "/open" });
    expect(event().requestContext).not.toHaveProperty("authorizer");
  });

  test.each([
    ["application/json", '{"é":1}', false],
    ["application/json; charset=utf-8", "{}", false],
    ["application/problem+json", "{}", false],
    ["text/plain", "", false],
    ["text/csv", "a,b", false],
    ["application/xml", "<a/>", false],
    ["application/octet-stream", "\0\x01", true],
    ["image/png", "x", true],
    ["application/jsonx", "{}", true],
  ])("has a body of type %s as text or base64", async (type, body, isBase64Encoded) => {
    const { api, event } = await catching();
    await exchange(api.port, { method: "POST", path: "/things/x", headers: ["Content-Type", type], body });
    expect(event().isBase64Encoded).toBe(isBase64Encoded);
    expect(event().body ?? "").toBe(isBase64Encoded ? Buffer.from(body).toString("base64") : body);
  });

  test("keeps every byte of a JSON body that is not UTF-8", async () => {
    const { api, event } = await catching();
    const body = Buffer.from([0x22, 0xff, 0x22]);
    await exchange(api.port, {
      method: "POST",
      path: "/things/x",
      headers: ["Content-Type", "application/json"],
      body,
    });
    expect(event()).toMatchObject({ isBase64Encoded: true, body: body.toString("base64") });
  });
});

describe("what the gateway refuses itself", () => {
  test.each([
    ["GET", "/nope", 404, "not-found"],
    ["GET", "/things/", 404, "not-found"],
    ["GET", "/things/a/b", 404, "not-found"],
    ["GET", "/Open", 404, "not-found"],
    ["DELETE", "/things/x", 405, "method-not-allowed"],
    ["OPTIONS", "/things/x", 405, "method-not-allowed"],
    ["GET", "/things/%zz", 400, "invalid-argument"],
    ["GET", "/things/%ff", 400, "invalid-argument"],
  ])("%s %s is %i %s", async (method, path, status, code) => {
    const { port } = await serving(() => "never");
    const answer = await exchange(port, { method, path });
    expect(answer.status).toBe(status);
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["consumed-capacity"]).toBe("wru=0, rru=0");
    expect(JSON.parse(answer.text)).toMatchObject({
      type: `https://cairn.dev/problems/${code}`,
      title: expect.any(String),
      detail: expect.any(String),
      status,
      code,
      retryable: false,
    });
  });

  test("a method that does not apply is told which do", async () => {
    const { port } = await serving(() => "never");
    expect((await exchange(port, { method: "DELETE", path: "/things/x" })).headers.allow).toBe("POST, GET");
    const head = await exchange(port, { method: "HEAD", path: "/open" });
    expect(head).toMatchObject({ status: 405, headers: { allow: "GET" }, text: "" });
  });

  test("bytes that are no HTTP are a problem too", async () => {
    const { port } = await serving(() => "never");
    const answer = await exchange(port, { raw: "NONSENSE\r\n\r\n" });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ code: "invalid-argument" });
  });

  test.each([
    ["announced", true],
    ["streamed", false],
  ])("a body over 10 MB is refused while it arrives, %s", async (_how, announced) => {
    let calls = 0;
    const { port } = await serving(() => {
      calls += 1;
      return "never";
    });
    const { answer, sentBytes } = await flood(port, "/things/x", 200 * 1024 * 1024, announced);
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.text)).toMatchObject({ code: "payload-too-large", status: 413 });
    expect(sentBytes).toBeLessThan(100 * 1024 * 1024);
    expect(calls).toBe(0);
  });

  test("a body of exactly 10 MB passes", async () => {
    const { port } = await serving((event) => ({
      statusCode: 200,
      body: String((event as { body: string }).body.length),
    }));
    const headers = ["Content-Type", "text/plain"];
    const body = Buffer.alloc(10 * 1024 * 1024, "x");
    const answer = await exchange(port, { method: "POST", path: "/things/x", headers, body });
    expect(answer).toMatchObject({ status: 200, text: String(body.length) });
  });
});

describe("the answer", () => {
  test("is what the handler says, its defaults filled in", async () => {
    const { port } = await serving(() => ({
      statusCode: 201,
      headers: { "X-Number": 7, "Content-Type": "application/json", "Content-Length": "999" },
      cookies: ["a=1", "b=2"],
      body: '{"é":1}',
    }));
    const answer = await exchange(port, { path: "/open" });
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({
      "x-number": "7",
      "content-type": "application/json",
      "content-length": "8",
    });
    expect(answer.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect(answer.text).toBe('{"é":1}');
  });

  test.each([
    ["a string", "plain", "plain"],
    ["an object without a status code", { a: 1 }, '{"a":1}'],
  ])("of %s is a 200 with that body", async (_what, result, text) => {
    const { port } = await serving(() => result);
    const answer = await exchange(port, { path: "/open" });
    expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/json" }, text });
  });

  test("in base64 is decoded", async () => {
    const { port } = await serving(() => ({ statusCode: 200, body: "AP8B", isBase64Encoded: true }));
    expect((await exchange(port, { path: "/open" })).bytes).toEqual(Buffer.from([0, 255, 1]));
  });

  test("a literal path goes before a parameter", async () => {
    const { port } = await serving(() => "parameter");
    expect((await exchange(port, { method: "POST", path: "/things/special" })).text).toBe("special");
  });

  test.each([
    ["throws", () => Promise.reject(new Error("secret at /etc/passwd"))],
    [
      "throws at once",
      () => {
        throw new Error("secret");
      },
    ],
    ["answers nothing", () => undefined],
    ["answers no status code", () => ({ statusCode: "secret" })],
    ["answers a body that is no string", () => ({ statusCode: 200, body: { secret: 1 } })],
    ["answers a header that cannot be sent", () => ({ statusCode: 200, headers: { "x-bad": "secret\r\nx: y" } })],
    ["answers more than 6 MB", () => ({ statusCode: 200, body: "secret".repeat(1_050_000) })],
  ])("of a handler that %s is a 500 that tells nothing", async (_what, handler) => {
    const { port } = await serving(handler);
    const answer = await exchange(port, { path: "/open" });
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.text)).toMatchObject({ code: "internal-error", retryable: false });
    expect(answer.text).not.toMatch(/secret|passwd|\.ts/);
    expect(log).toHaveLength(1);
    expect(log[0]).toMatch(/^things\/post failed, request [0-9a-f-]{36}: /);
    expect((await exchange(port, { path: "/open" })).status).toBe(500);
  });

  test("of a handler that takes too long is a 503 to repeat", async () => {
    const remaining: number[] = [];
    const { port } = await serving(async (_event, context) => {
      remaining.push(context.getRemainingTimeInMillis());
      await new Promise((resolve) => setTimeout(resolve, 200));
      throw new Error("too late to matter");
    }, 50);
    const answer = await exchange(port, { path: "/open" });
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect(JSON.parse(answer.text)).toMatchObject({ code: "unavailable", retryable: true });
    expect(remaining[0]).toBeGreaterThan(30);
    expect(remaining[0]).toBeLessThanOrEqual(50);
  });

  test("comes for many requests at once", async () => {
    // None is answered before all have come: one at a time would wait for ever.
    const all = Promise.withResolvers<void>();
    let come = 0;
    const { port } = await serving(async () => {
      come += 1;
      if (come === 20) all.resolve();
      await all.promise;
      return "done";
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(port, { path: "/open" })));
    expect(answers.map((answer) => answer.status)).toEqual(new Array(20).fill(200));
  });
});
