import { expect, test } from "vitest";
import { awsEnvironment } from "../../local/credentials.ts";
import { readSettings } from "../../local/settings.ts";
import { StartFailure } from "../../local/start-failure.ts";

test("the defaults are those of the help", () => {
  expect(readSettings({ PORT: "", DYNAMODB_ENDPOINT: "" })).toEqual({
    port: 8080,
    dataDir: `${process.cwd()}/.cairn`,
    tableName: "cairn",
    dynamodbEndpoint: undefined,
    sqsEndpoint: undefined,
    scheduleSeconds: undefined,
    replicas: [],
  });
});

test.each([
  ["PORT", "eighty"],
  ["PORT", "65536"],
  ["PORT", "-1"],
  ["PORT", "80.5"],
  ["PORT", "0x50"],
  ["DYNAMODB_ENDPOINT", "localhost:8000"],
  ["SQS_ENDPOINT", "ftp://queues"],
  ["CAIRN_TABLE", "a b"],
  ["CAIRN_SCHEDULE_SECONDS", "often"],
  ["CAIRN_REPLICAS", "a b"],
  ["CAIRN_REPLICAS", "one,two,three"],
  ["CAIRN_REPLICAS", "one,one"],
  ["CAIRN_REPLICAS", "cairn"],
  ["CAIRN_REPLICAS", "one@nowhere"],
])("%s=%s is refused by name", (name, value) => {
  const read = () => readSettings({ [name]: value });
  expect(read).toThrow(StartFailure);
  expect(read).toThrow(name);
});

test("replicas are named with where they are", () => {
  expect(readSettings({ CAIRN_REPLICAS: "one, cairn@http://127.0.0.1:8000/" }).replicas).toEqual([
    { tableName: "one", endpoint: undefined },
    { tableName: "cairn", endpoint: "http://127.0.0.1:8000" },
  ]);
});

const own = { AWS_ACCESS_KEY_ID: "AKIAREAL", AWS_SECRET_ACCESS_KEY: "real", AWS_PROFILE: "work" };
const madeUp = { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };

test("the engines started here never see real credentials", () => {
  const set = awsEnvironment(own, [undefined, undefined]);
  expect(set).toMatchObject({ ...madeUp, AWS_REGION: "us-east-1" });
  expect(Object.entries(set)).toContainEqual(["AWS_PROFILE", undefined]);
  expect(Object.entries(set)).toContainEqual(["AWS_SESSION_TOKEN", undefined]);
});

test.each([
  ["the user's own on an endpoint of theirs", own, "http://127.0.0.1:8000", { AWS_REGION: "us-east-1" }],
  ["made-up ones where the user has none", {}, "http://127.0.0.1:8000", madeUp],
  ["none made up for AWS", {}, "https://dynamodb.eu-west-1.amazonaws.com", { AWS_REGION: "eu-west-1" }],
  [
    "the region said, not the endpoint's",
    { AWS_REGION: "local-2" },
    "https://dynamodb.eu-west-1.amazonaws.com",
    { AWS_REGION: "local-2" },
  ],
])("credentials: %s", (_what, env, endpoint, expected) => {
  const set = awsEnvironment(env, [endpoint, undefined]);
  expect(set).toMatchObject(expected);
  expect("AWS_ACCESS_KEY_ID" in set).toBe("AWS_ACCESS_KEY_ID" in expected);
});
