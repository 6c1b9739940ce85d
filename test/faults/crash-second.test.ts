import { expect, test } from "vitest";
import { nameOf } from "./operation.ts";
import { all } from "./operations/all.ts";
import { playPart } from "./part.ts";
import { SMOKE } from "./settings.ts";

playPart(1);

test("no two operations have one name, and what the smoke slice names is there", () => {
  const names = all.map(nameOf);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining([...SMOKE]));
});
