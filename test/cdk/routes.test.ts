import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { consumers, feed, rejoining, routes, schedules } from "../../cdk/routes.ts";

const lambdasFolder = fileURLToPath(new URL("../../lambdas/", import.meta.url));

describe("the list of routes", () => {
  test("and the files of lambdas/ are the same", () => {
    const files = readdirSync(lambdasFolder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => file.slice(0, -".ts".length));
    const listed = [...routes, ...schedules, ...consumers, feed, rejoining].map((entry) => entry.lambda);

    expect(files.sort()).toEqual(listed.sort());
  });

  test("names each method and path once, and each function once", () => {
    const keys = routes.map((route) => `${route.method} ${route.path}`);
    const lambdas = [...routes, ...schedules, ...consumers, feed, rejoining].map((entry) => entry.lambda);

    expect(new Set(keys).size).toBe(keys.length);
    expect(new Set(lambdas).size).toBe(lambdas.length);
  });

  test("opens nothing but GET /health", () => {
    const open = routes.filter((route) => route.authorization === "none");

    expect(open.map((route) => `${route.method} ${route.path}`)).toEqual(["GET /health"]);
  });
});
