import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { awsEnvironment } from "../../local/credentials.ts";
import { ensureTable } from "../../local/table.ts";
import { type Engine, startTableEngine } from "../../local/table-engine.ts";
import type { Context } from "../../shared/commands/context.ts";
import { Router } from "../../shared/commands/exchanges/router.ts";
import { MetBranches } from "../../shared/commands/met-branches.ts";
import { SettingsCache } from "../../shared/commands/settings-cache.ts";
import { tableClient } from "../../shared/store/client.ts";
import { DynamoStore } from "../../shared/store/dynamodb.ts";
import type { QueuedMessage } from "../../shared/transport/port.ts";

/** A call's context, with the capacity that the call consumed. */
export interface TestCall extends Context {
  readonly store: DynamoStore;
}

/** What happens around one request to the table, as often as it is sent. */
export type Around = (command: string, send: () => Promise<unknown>) => Promise<unknown>;

export interface TableUnderTest {
  /** The context of a new call, its caches empty; `stopAfterMs`: its time limit. */
  call(stopAfterMs?: number): TestCall;
  /** Lets so much time pass, for every call. */
  wait(ms: number): void;
  /** What was sent to the command queue since the test began; nothing consumes it. */
  readonly sent: readonly QueuedMessage[];
  /** Stands between every later request and the table, until the test is over. */
  around(hook: Around): void;
}

/** A table of its own on a real engine (or at the `DYNAMODB_ENDPOINT` given), for the tests of a file. */
export function useTable(): TableUnderTest {
  const name = `cairn-test-${process.pid}-${Date.now()}`;
  let dataDir = "";
  let engine: Engine | undefined;
  let client: DynamoDBClient | undefined;
  let hook: Around | undefined;
  let aheadMs = 0;
  const sent: QueuedMessage[] = [];
  beforeAll(async () => {
    const given = process.env.DYNAMODB_ENDPOINT;
    for (const [variable, value] of Object.entries(awsEnvironment(process.env, [given]))) {
      if (value === undefined) delete process.env[variable];
      else process.env[variable] = value;
    }
    dataDir = await mkdtemp(join(tmpdir(), "cairn-table-"));
    engine = given === undefined ? await startTableEngine(dataDir) : undefined;
    const endpoint = engine?.endpoint ?? given ?? "";
    await ensureTable(endpoint, name);
    client = tableClient(endpoint);
    // Nearest to the wire: what the hook throws looks like lost contact, and the SDK tries again.
    client.middlewareStack.add(
      (next, context) => async (args) => {
        const send = () => next(args);
        return hook === undefined ? send() : ((await hook(context.commandName ?? "", send)) as ReturnType<typeof send>);
      },
      { step: "finalizeRequest", priority: "low", name: "around" },
    );
  });
  beforeEach(() => {
    hook = undefined;
    aheadMs = 0;
    sent.length = 0;
  });
  afterAll(async () => {
    client?.destroy();
    await engine?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const now = () => Date.now() + aheadMs;
  return {
    call(stopAfterMs = 20_000) {
      if (client === undefined) throw new Error("the table is not there yet");
      return {
        store: new DynamoStore(client, name),
        commandQueue: {
          send: async (messages) => {
            sent.push(...messages);
          },
        },
        settings: new SettingsCache(),
        router: new Router(),
        met: new MetBranches(),
        now,
        stopAtMs: now() + stopAfterMs,
      };
    },
    sent,
    wait(ms) {
      aheadMs += ms;
    },
    around(wanted) {
      hook = wanted;
    },
  };
}

/** What the SDK sees when an answer does not arrive: it sends the request again. */
export const answerLost = (): Error =>
  Object.assign(new Error("socket hang up"), { name: "TimeoutError", code: "ECONNRESET" });
