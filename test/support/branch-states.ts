import { expect } from "vitest";
import type { Client } from "./client.ts";
import { begin, endAndPrepare, expectOk, expectXa } from "./moves.ts";
import { newXid } from "./names.ts";

/** The sessions of a branch: `here` worked in it first, `joined` is one that joined it, `stranger` never had to do with it. */
export interface Cast {
  readonly here: Client;
  readonly joined: Client;
  readonly stranger: Client;
}

/** Every state of the table in `docs/branch-states.md`, and of each state the forms in which commands answer differently. */
export const situations = [
  "none",
  "active",
  "active, joined by another",
  "suspended",
  "idle",
  "rollback-only",
  "rollback-only, active here",
  "rollback-only, suspended here",
  "prepared",
  "timed-out",
  "timed-out, active here",
  "timed-out, suspended here",
  "heuristically-committed",
  "heuristically-rolled-back",
] as const;

export type Situation = (typeof situations)[number];

/** The state that `GET /dtx/{xid}` tells of a branch in this situation: the word before the comma. */
export const stateIn = (situation: Situation): string => situation.split(",")[0] ?? situation;

/** Deadline, in seconds, of the branches that are to time out. */
const SHORT_TIMEOUT_SECONDS = 1;

/** A branch that is to time out is there this long after its start, in ms. */
export const TIMED_OUT_AFTER_MS = SHORT_TIMEOUT_SECONDS * 1000 + 300;

/**
 * Brings a branch of a fresh xid into the situation and answers its xid. The timed-out ones are there only after
 * `TIMED_OUT_AFTER_MS`: make all of them first, then wait once.
 */
export async function bringInto(situation: Situation, { here, joined }: Cast): Promise<string> {
  const xid = newXid();
  if (situation === "none") return xid;
  await begin(here, xid, situation.startsWith("timed-out") ? SHORT_TIMEOUT_SECONDS : undefined);
  switch (situation) {
    case "active":
    case "timed-out, active here":
      break;
    case "active, joined by another":
      expectXa(await joined.start(xid, { join: true }), "XA_OK");
      break;
    case "suspended":
    case "timed-out, suspended here":
      expectXa(await here.end(xid, { suspend: true }), "XA_OK");
      break;
    case "idle":
    case "timed-out":
      expectXa(await here.end(xid), "XA_OK");
      break;
    case "rollback-only":
      expectXa(await here.end(xid, { fail: true }), "XA_RBROLLBACK");
      break;
    case "rollback-only, active here":
      await failByJoining(joined, xid);
      break;
    case "rollback-only, suspended here":
      expectXa(await here.end(xid, { suspend: true }), "XA_OK");
      await failByJoining(joined, xid);
      break;
    case "prepared":
      await endAndPrepare(here, xid);
      break;
    case "heuristically-committed":
      await endAndPrepare(here, xid);
      expect(expectOk(await here.heuristic(xid, "commit")).state).toBe(situation);
      break;
    case "heuristically-rolled-back":
      await endAndPrepare(here, xid);
      expect(expectOk(await here.heuristic(xid, "rollback")).state).toBe(situation);
      break;
  }
  return xid;
}

async function failByJoining(joined: Client, xid: string): Promise<void> {
  expectXa(await joined.start(xid, { join: true }), "XA_OK");
  expectXa(await joined.end(xid, { fail: true }), "XA_RBROLLBACK");
}
