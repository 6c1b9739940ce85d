import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { routes } from "../../cdk/routes.ts";
import { openApiDocument, operations } from "../../tools/openapi/document.ts";
import { page } from "./markdown.ts";

/** A handler's module shows what it hands to the edge instead of being a handler. */
vi.mock("../../shared/edge/route.ts", () => ({
  route: (_: unknown, shape: unknown) => shape,
  answer: () => undefined,
}));

interface Shape {
  readonly path?: readonly string[];
  readonly query?: unknown;
  readonly body?: unknown;
}

const document = openApiDocument();

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
