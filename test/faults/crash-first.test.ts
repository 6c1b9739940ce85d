import { expect, test } from "vitest";
import { routes, schedules } from "../../cdk/routes.ts";
import { all } from "./operations/all.ts";
import { playPart } from "./part.ts";

playPart(0);

test("every route and every schedule has an operation in the matrix, and no operation another one", () => {
  const known = [...routes.map(({ method, path }) => `${method} ${path}`), ...schedules.map(({ lambda }) => lambda)];
  expect([...new Set(all.map(({ route }) => route))].sort()).toEqual(known.sort());
});
