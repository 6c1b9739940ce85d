import type * as z from "zod";
import { NAME_LENGTH } from "../../shared/domain/limits.ts";
import { NAME_SHAPE } from "../../shared/domain/name.ts";
import { XID_SHAPE } from "../../shared/domain/xid.ts";
import type { ContextHeader } from "./operation.ts";

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
}

const name = { type: "string", pattern: `^(?!\\.\\.?$)[A-Za-z0-9._-]{1,${NAME_LENGTH}}$` };

const xid = {
  type: "string",
  pattern: "^(0|[1-9][0-9]{0,9})\\.([0-9a-f]{2}){1,64}\\.([0-9a-f]{2}){0,64}$",
  examples: ["1.6f7264657273.01", "7.00ff."],
};

const epoch = { type: "integer", minimum: 1 };

const inPath: Readonly<Record<string, Pick<Parameter, "description" | "schema">>> = {
  queue: { description: NAME_SHAPE, schema: name },
  exchange: { description: NAME_SHAPE, schema: name },
  session: { description: NAME_SHAPE, schema: name },
  xid: { description: XID_SHAPE, schema: xid },
};

/** The parameters of a route's path. */
export const pathParameters = (path: string): readonly Parameter[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = ""]) => {
    const known = inPath[parameter];
    if (known === undefined) throw new Error(`nothing is known of {${parameter}} in ${path}`);
    return { name: parameter, in: "path", required: true, ...known };
  });

const header = (named: string, description: string, schema: object, required = false): Parameter => ({
  name: named,
  in: "header",
  required,
  description,
  schema,
});

const epochOf = (required: boolean) =>
  header("Session-Epoch", "As the attach returned it; required beside `Session`.", epoch, required);

/** The context headers. A session is always named together with its epoch. */
const byHeader: Readonly<Record<ContextHeader, readonly Parameter[]>> = {
  Session: [header("Session", "The session that the call is made in.", name), epochOf(false)],
  "Session!": [header("Session", "The session; without one it is 400 `command-invalid`.", name, true), epochOf(true)],
  "Session-Epoch": [header("Session-Epoch", "The current epoch of the session in the path.", epoch)],
  Xid: [header("Xid", "The branch that the call works in; needs `Session`.", xid)],
  Prefer: [
    header(
      "Prefer",
      "`respond-async` (RFC 7240): in a session and outside a branch the call is stored as the session's next command, and answered with its id.",
      { type: "string", examples: ["respond-async"] },
    ),
  ],
  "Idempotency-Key": [
    header(
      "Idempotency-Key",
      "The same key with the same request within 24 h answers what the first one answered; with another request it is 422. Scope: the principal.",
      { type: "string", pattern: "^[\\x21-\\x7e]{1,255}$" },
    ),
  ],
};

export const headerParameters = (headers: readonly ContextHeader[]): readonly Parameter[] =>
  headers.flatMap((one) => byHeader[one]);

export const queryParameters = (
  query: z.ZodObject | undefined,
  schemaOf: (schema: z.ZodType) => object,
): readonly Parameter[] =>
  Object.entries((query?.shape ?? {}) as Record<string, z.ZodType>).map(([parameter, schema]) => ({
    name: parameter,
    in: "query",
    required: !schema.safeParse(undefined).success,
    schema: schemaOf(schema),
  }));

export const responseHeaders = {
  "Consumed-Capacity": {
    description: "What the call cost at the table: write and read request units.",
    schema: { type: "string", examples: ["wru=2, rru=1"] },
  },
  "Preference-Applied": {
    description: "`respond-async` when the call was stored as a command.",
    schema: { type: "string", examples: ["respond-async"] },
  },
  "Retry-After": {
    description: "Seconds after which the same call is worth repeating.",
    schema: { type: "integer" },
  },
};
