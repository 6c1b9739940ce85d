import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { routes } from "../../cdk/routes.ts";
import { bindBody } from "../../shared/edge/schemas/exchanges.ts";
import { enqueueBody } from "../../shared/edge/schemas/messages.ts";
import { openApiDocument, operations } from "../../tools/openapi/document.ts";
import { page } from "./markdown.ts";

/** A handler's module shows what it hands to the edge instead of being a handler. */
vi.mock("../../shared/edge/route.ts", () => ({
  route: (_: unknown, shape: unknown) => shape,
  answer: () => undefined,
}));

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
}

interface Shape {
  readonly path?: readonly string[];
  readonly query?: unknown;
  readonly body?: unknown;
}

const document = openApiDocument();

/** What the document says at a path of keys, such as `paths /queues get`. */
const saidAt = (...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<string | number, unknown>)[key], document);

const bodyOf = (path: string, method: string) =>
  ["paths", path, method, "requestBody", "content", "application/json", "schema", "properties"] as const;

describe("docs/openapi.json", () => {
  it("is what the routes and schemas make it: node tools/openapi.ts", () => {
    expect(JSON.parse(page("docs/openapi.json"))).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it("refers to nothing that is not there", () => {
    const text = JSON.stringify(document);
    const refs = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path);
    expect(refs.length).toBeGreaterThan(100);
    for (const ref of new Set(refs)) {
      const target = ref.split("/").reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[name], document);
      expect(target, ref).toBeTypeOf("object");
    }
  });

  it.each([
    [
      "headers of a message",
      [...bodyOf("/queues/{queue}/messages", "post"), "messages", "items", "properties"],
      "headers",
      enqueueBody,
      (value: unknown) => ({ messages: [{ body: "", headers: { k: value } }] }),
    ],
    [
      "arguments of a binding",
      bodyOf("/exchanges/{exchange}/bindings", "put"),
      "arguments",
      bindBody,
      (value: unknown) => ({ queue: "q", arguments: { k: value } }),
    ],
  ] as const)("allows in %s the values that the service does", (_, path, field, schema, of) => {
    const values = { string: "v", number: 1, boolean: true, null: null, object: {}, array: [] };
    const allowed = Object.entries(values).flatMap(([type, value]) =>
      schema.safeParse(of(value)).success ? [type] : [],
    );
    expect(saidAt(...path, field, "additionalProperties", "type")).toEqual(allowed);
  });

  it("requires the query parameters that the service does", () => {
    const required = routes.flatMap(({ method, path }) => {
      const parameters = saidAt("paths", path, method.toLowerCase(), "parameters") as readonly Parameter[] | undefined;
      return (parameters ?? []).flatMap((one) =>
        one.in === "query" && one.required ? [`${method} ${path} ${one.name}`] : [],
      );
    });
    expect(required).toEqual(["DELETE /exchanges/{exchange}/bindings queue"]);
  });

  it("describes every route and no other", () => {
    expect(Object.keys(operations).toSorted()).toEqual(routes.map(({ lambda }) => lambda).toSorted());
  });

  it.each(routes)("of $method $path has the schemas that its handler checks with", async ({ lambda, path }) => {
    const file = fileURLToPath(new URL(`../../lambdas/${lambda}.ts`, import.meta.url));
    const { handler } = (await import(/* @vite-ignore */ file)) as { handler: Shape };
    expect(operations[lambda]?.body).toBe(handler.body);
    expect(operations[lambda]?.query).toBe(handler.query);
    expect([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)).toEqual(handler.path ?? []);
  });
});
