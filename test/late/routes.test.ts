import { describe, expect, test } from "vitest";
import { routes } from "../../cdk/routes.ts";
import { attemptRows, queueRows } from "./attempts.ts";
import { epochRows } from "./epochs.ts";
import { incarnationRows } from "./incarnations.ts";
import { type Kind, kinds } from "./late.ts";
import { leaseRows } from "./leases.ts";
import { none } from "./none.ts";

describe("of each route is known", () => {
  const rows = [...epochRows("resumed"), ...leaseRows("over, and given to somebody else"), ...incarnationRows];
  const all = [...rows, ...queueRows, ...attemptRows];
  const listed = routes.map(({ method, path }) => `${method} ${path}`);

  test.for(kinds)("whether it carries one: %s", (kind: Kind) => {
    const withRows = new Set(all.filter(({ carries }) => carries === kind).map(({ route }) => route));
    const withReasons = Object.values(none[kind]).flat();
    expect([...withRows, ...withReasons].toSorted()).toEqual(listed.toSorted());
  });
});
