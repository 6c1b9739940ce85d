import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseStatus, statusDocument } from "../../shared/domain/store-document.ts";
import type { StoreStatus } from "../../shared/domain/store-status.ts";
import { manyCandidates, member, shutDown, status } from "./store-statuses.ts";

const good: StoreStatus = shutDown(
  "S",
  member(5n, 10n, 40n, {
    members: [
      { storeId: "s", table: "cairn", role: "primary", state: "in-sync", told: 5n },
      { storeId: "t", table: "other", endpoint: "http://e", region: "eu-west-1", role: "replica", state: "joining" },
    ],
  }),
);
const document = statusDocument(good);

describe("a status document", () => {
  it("is JSON with decimal strings, null where nothing applies", () => {
    expect(JSON.parse(JSON.stringify(statusDocument(status())))).toEqual({
      storeId: "s",
      clusterId: null,
      changeCounter: "0",
      configChange: null,
      configId: null,
      changeCounterAtConfigChange: null,
      role: "primary",
      state: "dirty",
      shutdownId: null,
      changeCounterAtShutdown: null,
      members: [],
      readAt: "2026-11-30T09:30:00.000Z",
    });
    expect(document.members[0]).toMatchObject({ told: "5" });
  });

  it("reads back as the status that was written", () => {
    expect(parseStatus(JSON.parse(JSON.stringify(document)))).toStrictEqual({ status: good });
    const replica: StoreStatus = { ...good, role: "replica", storeId: "x".repeat(255) };
    expect(parseStatus(statusDocument(replica))).toStrictEqual({ status: replica });
    fc.assert(
      fc.property(manyCandidates, (list) => {
        for (const { status: of } of list)
          expect(parseStatus(JSON.parse(JSON.stringify(statusDocument(of))))).toEqual({ status: of });
      }),
    );
  });

  it("may lack what decides nothing, and hold what is not known", () => {
    const { role: _role, members: _members, readAt: _readAt, ...rest } = statusDocument(status());
    expect(parseStatus({ ...rest, later: 1 })).toEqual({ status: { ...status(), readAt: "" } });
  });

  it.each<[string, object]>([
    ["storeId", { storeId: 7 }],
    ["storeId", { storeId: "" }],
    ["clusterId", { clusterId: {} }],
    ["clusterId", { clusterId: null }],
    ["changeCounter", { changeCounter: 40 }],
    ["changeCounter", { changeCounter: null }],
    ["changeCounter", { changeCounter: "18446744073709551616" }],
    ["configChange", { configChange: "-1" }],
    ["configChange", { configChange: null }],
    ["configId", { configId: 1 }],
    ["changeCounterAtConfigChange", { changeCounterAtConfigChange: "ten" }],
    ["changeCounterAtConfigChange", { changeCounterAtConfigChange: null }],
    ["role", { role: "master" }],
    ["state", { state: "dusty" }],
    ["state", { state: null }],
    ["shutdownId", { shutdownId: 1 }],
    ["shutdownId", { shutdownId: null }],
    ["changeCounterAtShutdown", { changeCounterAtShutdown: "1e3" }],
    ["changeCounterAtShutdown", { changeCounterAtShutdown: null }],
    ["members", { members: {} }],
    ["members[0]", { members: ["s"] }],
    ["members[0].storeId", { members: [{ ...document.members[0], storeId: undefined }] }],
    ["members[0].table", { members: [{ ...document.members[0], table: 3 }] }],
    ["members[0].endpoint", { members: [{ ...document.members[0], endpoint: 3 }] }],
    ["members[0].region", { members: [{ ...document.members[0], region: "" }] }],
    ["members[0].role", { members: [{ ...document.members[0], role: "x" }] }],
    ["members[0].state", { members: [{ ...document.members[0], state: "x" }] }],
    ["members[1].told", { members: [document.members[0], { ...document.members[1], told: 5 }] }],
    ["readAt", { readAt: "yesterday" }],
  ])("with a wrong %s says so", (path, wrong) => {
    const read = parseStatus({ ...document, ...wrong });
    expect("errors" in read && read.errors.map((error) => error.path)).toEqual(expect.arrayContaining([path]));
  });

  it.each([
    "storeId",
    "clusterId",
    "changeCounter",
    "configChange",
    "configId",
    "changeCounterAtConfigChange",
    "state",
    "shutdownId",
    "changeCounterAtShutdown",
  ])("without %s says that it is missing", (field) => {
    const read = parseStatus({ ...document, [field]: undefined });
    expect(read).toMatchObject({
      errors: [{ path: field, message: expect.stringContaining("is missing: it must be ") }],
    });
  });

  it.each<[string, string, object]>([
    ["storeId", "must be a text of 1 to 255 characters, or null", { storeId: "x".repeat(256) }],
    ["changeCounter", "must be a decimal string from 0 to 18446744073709551615", { changeCounter: -1 }],
    ["state", "must be one of empty, dirty, clean", { state: "full" }],
    ["readAt", "must be a time in ISO 8601", { readAt: 2026 }],
    ["members", "must be a list", { members: "s" }],
    ["members[0]", "must be an object", { members: [["s"]] }],
    ["clusterId", "is null, but configChange, changeCounterAtConfigChange is not", { clusterId: null }],
    ["shutdownId", "is null, but changeCounterAtShutdown is not", { state: "dirty", shutdownId: null }],
  ])("with another %s says what it %s", (path, message, wrong) => {
    expect(parseStatus({ ...document, ...wrong })).toEqual({ errors: [{ path, message }] });
  });

  it("names all that is wrong", () => {
    const read = parseStatus({ ...document, state: 1, changeCounter: 2, configId: 3 });
    expect("errors" in read && read.errors.map(({ path }) => path)).toEqual(["changeCounter", "configId", "state"]);
  });

  it("clean without a shutdown contradicts itself", () => {
    expect(parseStatus({ ...document, shutdownId: null, changeCounterAtShutdown: null })).toMatchObject({
      errors: [{ path: "shutdownId", message: "must be given, because the state is clean" }],
    });
  });

  it("empty and in a cluster contradicts itself", () => {
    const empty = { ...document, state: "empty", shutdownId: null, changeCounterAtShutdown: null };
    expect(parseStatus(empty)).toEqual({
      errors: [{ path: "state", message: "is empty, which a store of a cluster is not" }],
    });
  });

  it.each([null, [], "x", 3])("is an object, not %j", (other) => {
    expect(parseStatus(other)).toEqual({ errors: [{ path: "", message: "must be a status document, a JSON object" }] });
  });
});
