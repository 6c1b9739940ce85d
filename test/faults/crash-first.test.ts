import { expect, test } from "vitest";
import { consumers, routes, schedules } from "../../cdk/routes.ts";
import { all } from "./operations/all.ts";
import { playPart } from "./part.ts";

playPart(0);

test("every route, every schedule and every consumer of a queue has an operation in the matrix, and no operation another one", () => {
  const behind = [...schedules, ...consumers].map(({ lambda }) => lambda);
  const known = [...routes.map(({ method, path }) => `${method} ${path}`), ...behind];
  expect([...new Set(all.map(({ route }) => route))].sort()).toEqual(known.sort());
});
