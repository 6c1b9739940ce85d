import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DETACHED_RANGES } from "../../shared/domain/limits.ts";
import {
  attach,
  close,
  fateOf,
  fence,
  isAliveAt,
  isDetached,
  mayHaveOpenCommands,
  renew,
  type Session,
} from "../../shared/domain/session.ts";

const nowMs = 1_000_000;
const attached = attach(undefined, "s", 300, nowMs);
const endMs = nowMs + 300_000;

describe("attach", () => {
  it("of a name that never had a session begins with nothing behind it", () => {
    expect(attach(undefined, "s", 300, nowMs)).toEqual({
      name: "s",
      version: 1,
      epoch: 1,
      state: "attached",
      timeoutSeconds: 300,
      expiresAtMs: endMs,
      detachedEpochs: [],
      commands: 0,
      completedThrough: 0,
      isListed: false,
    });
  });

  it("starts a new name at epoch 1, alive for its timeout", () => {
    expect(attached).toMatchObject({ name: "s", epoch: 1, state: "attached", timeoutSeconds: 300, expiresAtMs: endMs });
    expect(isAliveAt(attached, 1, nowMs)).toBe(true);
    expect(isAliveAt(attached, 1, endMs - 1)).toBe(true);
    expect(isAliveAt(attached, 1, endMs)).toBe(false);
  });

  it.each([
    ["an attached one", attached, nowMs],
    ["a detached one", close(attached, nowMs), nowMs],
    ["an expired one", close(attached, endMs), endMs],
    ["one whose time is over", attached, endMs],
  ])("goes on counting after %s and fences the older epoch", (_, before, atMs) => {
    const after = attach(before, "s", 10, atMs);
    expect(after).toMatchObject({ epoch: 2, state: "attached", expiresAtMs: atMs + 10_000 });
    expect(after.version).toBeGreaterThan(before.version);
    expect(fence(after, { name: "s", epoch: 1 }, atMs)?.refusal).toBe("session-fenced");
    expect(fence(after, { name: "s", epoch: 2 }, atMs)).toBeUndefined();
  });
});

describe("the fence", () => {
  it.each<[string, Session | undefined, number, number, string | undefined]>([
    ["lets the current epoch of a living session through", attached, 1, nowMs, undefined],
    ["refuses a session that was never attached", undefined, 1, nowMs, "not-found"],
    ["refuses an older epoch", attach(attached, "s", 300, nowMs), 1, nowMs, "session-fenced"],
    ["refuses an epoch of the future", attached, 2, nowMs, "session-fenced"],
    ["refuses a detached session", close(attached, nowMs), 1, nowMs, "session-fenced"],
    ["refuses an expired session", close(attached, endMs), 1, endMs, "session-fenced"],
    ["refuses a session whose time is over, though nobody has closed it", attached, 1, endMs, "session-fenced"],
  ])("%s", (_, session, epoch, atMs, code) => {
    expect(fence(session, { name: "s", epoch }, atMs)?.refusal).toBe(code);
  });
});

describe("the commands of a session", () => {
  const busy: Session = { ...attached, commands: 7, completedThrough: 5, isListed: true };

  it("go on counting from epoch to epoch", () => {
    const kept = { commands: 7, completedThrough: 5, isListed: true };
    expect(attach(busy, "s", 300, nowMs)).toMatchObject(kept);
    expect(attach(close(busy, nowMs), "s", 300, nowMs)).toMatchObject(kept);
  });

  it("may be open past the one up to which none is", () => {
    expect(mayHaveOpenCommands(undefined)).toBe(false);
    expect([5, 6, 7, 8].map((completedThrough) => mayHaveOpenCommands({ ...busy, completedThrough }))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it("are nobody's to wait for at an epoch that was detached", () => {
    const session: Session = {
      ...attached,
      detachedEpochs: [
        [2, 3],
        [6, 6],
      ],
    };
    expect([1, 2, 3, 4, 6, 7].map((epoch) => isDetached(session, epoch))).toEqual([
      false,
      true,
      true,
      false,
      true,
      false,
    ]);
    expect(isDetached(undefined, 1)).toBe(false);
  });
});

describe("renew", () => {
  it("moves the expiry from now on and keeps the epoch", () => {
    const after = renew(attached, 10, nowMs + 5_000);
    expect(after).toEqual({ ...attached, version: 2, timeoutSeconds: 10, expiresAtMs: nowMs + 15_000 });
  });
});

describe("close", () => {
  it("of a living session is a detach, of one whose time is over an expiry", () => {
    expect(close(attached, endMs - 1).state).toBe("detached");
    expect(close(attached, endMs).state).toBe("expired");
  });

  it.each([
    ["keeps the expiry of one whose time is not over", nowMs, endMs],
    ["counts from now for one that nobody has closed for days", endMs + 86_400_000, endMs + 86_400_000],
  ])("%s, one version on", (_, atMs, expiresAtMs) => {
    expect(close(attached, atMs)).toMatchObject({ version: 2, epoch: 1, expiresAtMs });
  });
});

/** What may happen to a session, one epoch after the other: how the epoch ends before the next attach. */
const endings = fc.array(fc.constantFrom("detached", "expired", "resumed"), { minLength: 1, maxLength: 60 });

describe("the fate of an epoch", () => {
  it("is what ended it: detached ones have left properly, expired and resumed ones are dead, the last lives", () => {
    fc.assert(
      fc.property(endings, (how) => {
        let session = attached;
        for (const ending of how) {
          if (ending === "detached") session = close(session, nowMs);
          if (ending === "expired") session = close(session, endMs);
          session = attach(session, "s", 300, nowMs);
        }
        const fates = Array.from({ length: session.epoch }, (_, i) => fateOf(session, i + 1, nowMs));
        expect(fates).toEqual([...how.map((ending) => (ending === "detached" ? "detached" : "dead")), "alive"]);
      }),
    );
  });

  it("is dead for a session that is not known any more", () => {
    expect(fateOf(undefined, 1, nowMs)).toBe("dead");
  });

  it("of detached epochs in a row takes one range, however many", () => {
    let session = attached;
    for (let i = 0; i < 1000; i++) session = attach(close(session, nowMs), "s", 300, nowMs);
    expect(session.detachedEpochs).toEqual([[1, 1000]]);
  });

  it("is forgotten for the oldest detached epochs, which then count as dead", () => {
    let session = attached;
    for (let i = 0; i < DETACHED_RANGES + 1; i++) {
      session = attach(close(session, nowMs), "s", 300, nowMs);
      session = attach(session, "s", 300, nowMs);
    }
    expect(session.detachedEpochs).toHaveLength(DETACHED_RANGES);
    expect(fateOf(session, 1, nowMs)).toBe("dead");
    expect(fateOf(session, 3, nowMs)).toBe("detached");
  });

  it("stays the same when a closed session is closed again", () => {
    const detached = close(attached, nowMs);
    expect(close(detached, nowMs).detachedEpochs).toEqual(detached.detachedEpochs);
    expect(fateOf(close(detached, nowMs), 1, nowMs)).toBe("detached");
  });
});
