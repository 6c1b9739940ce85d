import * as z from "zod";
import { type Route, routes } from "../../cdk/routes.ts";
import type { RefusalCode } from "../../shared/domain/refusal.ts";
import { problemOf } from "../../shared/edge/problem.ts";
import { nameText } from "../../shared/edge/schemas/queues.ts";
import { version } from "../../shared/version.ts";
import * as answers from "./answers.ts";
import { branchOperations, healthOperations, recoveryOperations, sessionOperations } from "./branches.ts";
import { exchangeOperations } from "./exchanges.ts";
import { deliveryOperations, queueOperations } from "./messages.ts";
import type { Operation, Operations } from "./operation.ts";
import { headerParameters, pathParameters, queryParameters, responseHeaders } from "./parameters.ts";
import { storeOperations } from "./stores.ts";

const groups: readonly (readonly [tag: string, operations: Operations])[] = [
  ["health", healthOperations],
  ["queues", queueOperations],
  ["exchanges", exchangeOperations],
  ["deliveries", deliveryOperations],
  ["sessions", sessionOperations],
  ["branches", branchOperations],
  ["recovery", recoveryOperations],
  ["store", storeOperations],
];

/** Every operation of the document, by the handler's file below `lambdas/`. */
export const operations: Operations = Object.assign({}, ...groups.map(([, ofGroup]) => ofGroup));

const description = `A message service with X/Open XA two-phase branches. JSON in UTF-8; a body that a call does not need may be left
out, a field or a query parameter that is not known is refused. Integers that can pass 2^53 are decimal strings, times ISO 8601 in UTC.
Every response carries \`Consumed-Capacity\`. Answers stop before 4 MB: lists go on with \`cursor\`, an acquire gives fewer messages than
asked. Checks come in this order: the call's form, the session's fence, flags that exclude each other, state. Every problem has the
media type \`application/problem+json\`; a call that is not signed, or may not be made, is refused by the gateway before it gets
here, in the gateway's own form (403). Reserved names begin with \`amq.\`: only the standard exchanges have one.`;

/** The OpenAPI 3.1 document of `cdk/routes.ts`, with the schemas that the handlers check requests with. */
export const openApiDocument = (): object => ({
  openapi: "3.1.0",
  info: { title: "Cairn", version, description: description.replaceAll("\n", " ") },
  tags: groups.map(([name]) => ({ name })),
  paths: Object.fromEntries(
    [...Map.groupBy(routes, ({ path }) => path)].map(([path, ofPath]) => [
      path,
      {
        parameters: pathParameters(path),
        ...Object.fromEntries(ofPath.map((route) => [route.method.toLowerCase(), operationObject(route)])),
      },
    ]),
  ),
  components: {
    schemas: answerSchemas(),
    headers: responseHeaders,
    responses: {
      Problem: problemResponse({}),
      RetryableProblem: problemResponse({ "Retry-After": { $ref: "#/components/headers/Retry-After" } }),
    },
    securitySchemes: {
      sigv4: {
        type: "apiKey",
        in: "header",
        name: "Authorization",
        description: "AWS Signature Version 4 for the service `execute-api`, by a caller who may `execute-api:Invoke`.",
        "x-amazon-apigateway-authtype": "awsSigv4",
      },
    },
  },
});

const operationObject = (route: Route): object => {
  const operation = operations[route.lambda];
  if (operation === undefined) throw new Error(`tools/openapi/ says nothing of ${route.method} ${route.path}`);
  const parameters = [...headerParameters(operation.headers ?? []), ...queryParameters(operation.query, querySchema)];
  return {
    operationId: route.lambda.replaceAll(/[/-](\w)/g, (_, letter: string) => letter.toUpperCase()),
    tags: groups.filter(([, ofGroup]) => route.lambda in ofGroup).map(([name]) => name),
    summary: operation.summary,
    ...(operation.description !== undefined && { description: operation.description }),
    security: route.authorization === "iam" ? [{ sigv4: [] }] : [],
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body !== undefined && { requestBody: requestBody(operation.body) }),
    responses: { ...answerObjects(operation), ...problemObjects(operation) },
  };
};

const requestBody = (schema: z.ZodType): object => ({
  required: !schema.safeParse({}).success,
  content: { "application/json": { schema: requestSchema(schema) } },
});

const headers = { "Consumed-Capacity": { $ref: "#/components/headers/Consumed-Capacity" } };

const answerObjects = ({ answers: byStatus }: Operation): object =>
  Object.fromEntries(
    Object.entries(byStatus).map(([status, [when, body]]) => [
      status,
      {
        description: when,
        headers,
        ...(body !== undefined && { content: { "application/json": { schema: { $ref: answerUri(body) } } } }),
      },
    ]),
  );

/** What any call may be answered. */
const always: readonly RefusalCode[] = ["invalid-argument", "payload-too-large", "internal-error", "unavailable"];

const problemObjects = (operation: Operation): object => {
  const codes = [...always, ...(operation.problems ?? [])];
  const byStatus = Map.groupBy(codes, (code) => problemOf({ refusal: code, detail: "" }).statusCode);
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      status,
      {
        $ref: `#/components/responses/${status === 503 ? "RetryableProblem" : "Problem"}`,
        description: ofStatus.map((code) => `\`${code}\``).join(", "),
      },
    ]),
  );
};

const problemResponse = (more: object): object => ({
  description: "The call was refused: `code` says why, `detail` in words, `errors` where an argument is wrong.",
  headers: { ...headers, ...more },
  content: { "application/problem+json": { schema: { $ref: answerUri(answers.problem) } } },
});

const answerNames = new Map<z.ZodType, string>(
  Object.entries(answers).map(([name, schema]) => [schema, name.charAt(0).toUpperCase() + name.slice(1)]),
);

const uriOf = (name: string): string => `#/components/schemas/${name}`;

const answerUri = (schema: z.ZodType): string => {
  const name = answerNames.get(schema);
  if (name === undefined) throw new Error("an answer is not among those of tools/openapi/answers.ts");
  return uriOf(name);
};

/** Every exported schema of `answers.ts` by its name; where one is part of another, that refers to it. */
const answerSchemas = (): object => {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of answerNames) registry.add(schema, { id });
  const override: Override = (one) => {
    spellOut(one);
    // A later version may answer more; the service's own tests are strict.
    if (one.jsonSchema.additionalProperties === false) delete one.jsonSchema.additionalProperties;
  };
  const { schemas } = z.toJSONSchema(registry, { uri: uriOf, override });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $id: _, $schema: __, ...schema }]) => [name, schema]),
  );
};

type Override = NonNullable<z.core.ToJSONSchemaParams["override"]>;

/** What JSON Schema can say of checks that the validator makes with code. */
const spellOut: Override = ({ zodSchema, jsonSchema }) => {
  if (zodSchema === nameText) Object.assign(jsonSchema, pathParameters("/{queue}")[0]?.schema);
  if (zodSchema._zod.def.type === "custom") {
    Object.assign(jsonSchema, { type: "object", additionalProperties: { type: valueTypesOf(zodSchema) } });
  }
  // Every integer has this bound; it says nothing.
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};

const values = { string: "", number: 0, boolean: false, null: null };

/** The types of value that an object checked with code may have, by asking it. */
const valueTypesOf = (schema: z.core.$ZodType): readonly string[] =>
  Object.entries(values).flatMap(([type, value]) => (z.safeParse(schema, { k: value }).success ? [type] : []));

const requestSchema = (schema: z.ZodType, io: "input" | "output" = "input"): z.core.JSONSchema.JSONSchema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", override: spellOut });
  return rest;
};

/** A query parameter is text that stands for a value: a number is shown as one. */
const querySchema = (schema: z.ZodType): object => {
  const asValue = requestSchema(schema, "output");
  return asValue.type === "number" ? { ...asValue, type: "integer" } : requestSchema(schema);
};
