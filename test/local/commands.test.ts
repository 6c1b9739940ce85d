import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Service, startService } from "../../local/service.ts";
import { client } from "../support/client.ts";
import { drain, expectOk, newQueue, newSession } from "../support/moves.ts";

let dataDir = "";
let service: Service | undefined;
const c = client(() => service?.baseUrl ?? "");

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "cairn-commands-"));
  service = await startService({ dataDir });
});
afterAll(async () => {
  await service?.stop();
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

/** Sends messages that the service need not store, one a call, and gets them acknowledged. */
const handOn = async (queue: string, bodies: readonly string[]): Promise<void> => {
  const session = await newSession(c);
  for (const body of bodies) expectOk(await session.enqueue(queue, [{ body, deliveryMode: "transient" }]), 202);
};

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `message ${at}`);

describe("the service on this machine", () => {
  test("hands on what its command queue holds, soon and in order", async () => {
    const queue = await newQueue(c);
    await handOn(queue, numbered(20));
    await expect.poll(async () => (await c.stats(queue)).available, { timeout: 10_000 }).toBe("20");
    expect((await drain(c, queue)).map(({ body }) => body)).toEqual(numbered(20));
  });

  test("goes on after a kill -9 with every message that was acknowledged, once and in order", async () => {
    const queue = await newQueue(c);
    await handOn(queue, numbered(20));
    await service?.kill9();
    service = await startService({ dataDir });
    await expect.poll(async () => (await c.stats(queue)).available, { timeout: 15_000 }).toBe("20");
    expect((await drain(c, queue)).map(({ body }) => body)).toEqual(numbered(20));
  });
});
