import { describe, expect, it } from "vitest";
import { type Completion, listCompletions } from "../../shared/commands/asynchronous/completions.ts";
import { countOpen } from "../../shared/commands/asynchronous/open-commands.ts";
import { runCommands } from "../../shared/commands/asynchronous/run-commands.ts";
import { sendCommand } from "../../shared/commands/asynchronous/send-command.ts";
import { browse } from "../../shared/commands/queues/browse.ts";
import { isRefusal } from "../../shared/domain/refusal.ts";
import { answered, attachedSession } from "../support/branches.ts";
import { declared, messageOf } from "../support/messages.ts";
import { type TestCall, useTable } from "../support/table.ts";

const table = useTable();

/** The long run has as many as a session is promised. */
const OPEN = process.env.INTERLEAVINGS === "all" ? 10_000 : 1_000;
const QUEUES = 3;
const LONG_MS = 3_600_000;

const allBodies = async (call: TestCall, queue: string): Promise<readonly string[]> => {
  const bodies: string[] = [];
  let after: string | undefined;
  do {
    const page = answered(await browse(call, queue, { after, limit: 500 }));
    bodies.push(...page.messages.map(({ message }) => Buffer.from(message.body).toString()));
    after = page.next;
  } while (after !== undefined);
  return bodies;
};

describe("a session with a long line of open commands", () => {
  it("has each done and completed once, in order, a run after the other as far as its time goes", {
    timeout: 900_000,
  }, async () => {
    const call = table.call(LONG_MS);
    const session = await attachedSession(call, 86_400);
    const queues = await Promise.all(Array.from({ length: QUEUES }, () => declared(call)));
    const sent = new Map(queues.map(({ name }) => [name, [] as string[]]));
    for (let i = 0; i < OPEN; i++) {
      const queue = queues[i % QUEUES]?.name ?? "";
      const messages = [messageOf(String(i))];
      const stored = answered(await sendCommand(call, { session, request: { kind: "enqueue", queue }, messages }));
      expect(stored).toEqual({ commandId: i + 1 });
      sent.get(queue)?.push(String(i));
    }
    expect(await countOpen(call, session.name)).toBe(OPEN);
    for (let runs = 0; ; runs++) {
      // A worker has not the time for all of them: who comes next goes on.
      const { isLeft, broken } = await runCommands(table.call(runs < 3 ? 500 : LONG_MS), session.name);
      expect([...broken]).toEqual([]);
      if (!isLeft) break;
    }
    expect(await countOpen(call, session.name)).toBe(0);
    for (const { name } of queues) expect(await allBodies(call, name)).toEqual(sent.get(name));
    const completions: Completion[] = [];
    let through = 0;
    do {
      const page = answered(await listCompletions(call, session.name, through, 0, () => 100));
      completions.push(...page.completions);
      expect(page.completions.length).toBeLessThanOrEqual(500);
      through = page.completedThrough;
    } while (through < OPEN);
    expect(completions.map(({ commandId }) => commandId)).toEqual(Array.from({ length: OPEN }, (_, i) => i + 1));
    expect(completions.filter(({ outcome }) => isRefusal(outcome))).toEqual([]);
  });
});
