import { describe, expect, it } from "vitest";
import { getBranch } from "../../shared/commands/dtx/get.ts";
import { attachSession } from "../../shared/commands/sessions/attach.ts";
import { detachSession } from "../../shared/commands/sessions/detach.ts";
import { closeExpired } from "../../shared/commands/sessions/expire.ts";
import { getSession } from "../../shared/commands/sessions/get.ts";
import { keepAlive } from "../../shared/commands/sessions/keep-alive.ts";
import { loadSession } from "../../shared/commands/sessions/liveness.ts";
import { stateNameOf } from "../../shared/domain/branch.ts";
import { writeSession } from "../../shared/records/session.ts";
import { answered, attachedSession, ended, prepared, started } from "../support/branches.ts";
import { freshName } from "../support/messages.ts";
import { answerLost, type TestCall, useTable } from "../support/table.ts";

const table = useTable();

const stateOf = async (call: TestCall, xid: Parameters<typeof getBranch>[1]) => {
  const view = answered(await getBranch(call, xid));
  return "branch" in view ? stateNameOf(view.branch) : view.outcome.outcome;
};

describe("attach", () => {
  it("counts epochs up, each given once, also when many attach at the same time", async () => {
    const name = freshName("session");
    const all = await Promise.all(
      Array.from({ length: 8 }, async () => answered(await attachSession(table.call(), name, 300))),
    );
    const epochs = all.map(({ session }) => session.epoch).sort((a, b) => a - b);
    expect(new Set(epochs).size).toBe(8);
    expect(epochs[0]).toBe(1);
    expect(all.filter(({ isResumed }) => !isResumed)).toHaveLength(1);
  });

  it("is one attach when its answer was lost and the request repeated", async () => {
    const name = freshName("session");
    let lost = 0;
    table.around(async (command, send) => {
      const answer = await send();
      if (command.startsWith("TransactWriteItems") && lost++ === 0) throw answerLost();
      return answer;
    });
    expect(answered(await attachSession(table.call(), name, 300)).session.epoch).toBe(1);
    expect(lost).toBeGreaterThan(1);
  });

  it("refuses names that are kept for the standard exchanges", async () => {
    expect(await attachSession(table.call(), "amq.mine", 300)).toMatchObject({ refusal: "not-allowed" });
  });
});

describe("keep-alive", () => {
  it("renews by the timeout given, or by the one before", async () => {
    const call = table.call();
    const session = await attachedSession(call, 100);
    table.wait(50_000);
    const renewed = answered(await keepAlive(call, session, undefined));
    expect(renewed).toMatchObject({ epoch: session.epoch, timeoutSeconds: 100 });
    expect(renewed.expiresAtMs - call.now()).toBeGreaterThan(99_000);
    expect(answered(await keepAlive(call, session, 10)).timeoutSeconds).toBe(10);
  });

  it("is fenced at another epoch, after a detach, after the expiry; unknown sessions are not found", async () => {
    const call = table.call();
    const session = await attachedSession(call, 10);
    const fenced = { refusal: "session-fenced" };
    expect(await keepAlive(call, { ...session, epoch: 2 }, undefined)).toMatchObject(fenced);
    table.wait(10_000);
    expect(await keepAlive(call, session, undefined)).toMatchObject(fenced);
    const other = await attachedSession(call);
    await detachSession(call, other.name, undefined);
    expect(await keepAlive(call, other, undefined)).toMatchObject(fenced);
    expect(await keepAlive(call, { name: "never", epoch: 1 }, undefined)).toMatchObject({ refusal: "not-found" });
  });

  it("cannot come in after someone has acted on the expiry, whatever its own clock says", async () => {
    const slow = table.call();
    const session = await attachedSession(slow, 10);
    const late = { ...slow, now: () => session.expiresAtMs - 1 };
    table.wait(10_000);
    await closeExpired(slow, new Map([[session.name, session]]));
    expect(await keepAlive(late, session, 300)).toMatchObject({ refusal: "session-fenced" });
  });

  it("that came in first keeps the session from being closed", async () => {
    const call = table.call();
    const session = await attachedSession(call, 10);
    answered(await keepAlive(call, session, 300));
    table.wait(10_000);
    const [after] = (await closeExpired(call, new Map([[session.name, session]]))).values();
    expect(after).toMatchObject({ state: "attached", timeoutSeconds: 300 });
  });
});

describe("detach", () => {
  it("dooms what is open, leaves what was ended or prepared, and may be repeated", async () => {
    const call = table.call();
    const session = await attachedSession(call);
    const [open, idle, inDoubt] = [
      await started(call, session),
      await started(call, session),
      await started(call, session),
    ];
    await ended(call, session, idle);
    await prepared(call, session, inDoubt);
    expect(await detachSession(call, session.name, session.epoch)).toBe("detached");
    expect(await detachSession(call, session.name, session.epoch)).toBe("detached");
    expect(await stateOf(call, open)).toBe("rollback-only");
    expect(await stateOf(call, idle)).toBe("idle");
    expect(await stateOf(call, inDoubt)).toBe("prepared");
  });

  it("of an expired session is none: what it had ended is lost too", async () => {
    const call = table.call();
    const session = await attachedSession(call, 10);
    const idle = await started(call, session);
    await ended(call, session, idle);
    table.wait(10_000);
    expect(await detachSession(call, session.name, undefined)).toBe("detached");
    expect((await loadSession(call, session.name))?.state).toBe("expired");
    expect(await stateOf(call, idle)).toBe("rollback-only");
  });

  it("is fenced at another epoch, and unknown sessions are not found", async () => {
    const call = table.call();
    const session = await attachedSession(call);
    expect(await detachSession(call, session.name, 7)).toMatchObject({ refusal: "session-fenced" });
    expect((await loadSession(call, session.name))?.state).toBe("attached");
    expect(await detachSession(call, "never", undefined)).toMatchObject({ refusal: "not-found" });
  });

  it("goes on with its associations when it was cut off after the fence", async () => {
    const call = table.call();
    const session = await attachedSession(call);
    const xid = await started(call, session);
    await call.store.commit([
      writeSession(session, { ...session, version: 9, state: "detached", detachedEpochs: [[1, 1]] }),
    ]);
    expect(await detachSession(call, session.name, undefined)).toBe("detached");
    const view = answered(await getBranch(call, xid));
    expect("branch" in view && view.branch.associations).toEqual([]);
  });
});

describe("a session, looked at", () => {
  it("tells its associations while it is attached, and renews nothing", async () => {
    const call = table.call();
    const session = await attachedSession(call, 100);
    const [active, idle] = [await started(call, session), await started(call, session)];
    await ended(call, session, idle);
    table.wait(50_000);
    const view = answered(await getSession(call, session.name));
    expect(view).toMatchObject({ state: "attached", branches: [{ xid: active, state: "active" }] });
    expect(view.session.expiresAtMs).toBe(session.expiresAtMs);
    table.wait(50_000);
    expect(answered(await getSession(call, session.name))).toMatchObject({ state: "expired", branches: [] });
    await detachSession(call, session.name, undefined);
    expect(answered(await getSession(call, session.name)).state).toBe("expired");
    expect(await getSession(call, "never")).toMatchObject({ refusal: "not-found" });
  });
});
