/** The session's record: `v`, `ep` epoch, `st` state, `to` timeout (s), `x` expiry (ms), `det` detached epochs, `ttl` when dead. */
import { SESSION_REMEMBERED_SECONDS } from "../domain/limits.ts";
import type { Session, SessionRef } from "../domain/session.ts";
import { sessionKey } from "./keys.ts";
import { json, text, Unreadable, whole } from "./reading.ts";
import { absent, atVersion, type Item, type Write } from "./write.ts";

export const writeSession = (before: Session | undefined, after: Session): Write => ({
  kind: "put",
  key: sessionKey(after.name),
  item: sessionItem(after),
  require: [before === undefined ? absent : atVersion(before.version)],
  otherwise: "reload",
});

/** Stands beside a write that must not land after the session's fence. */
export const checkSession = (ref: SessionRef, nowMs: number): Write => ({
  kind: "check",
  key: sessionKey(ref.name),
  require: [
    { is: "equal", path: ["ep"], value: ref.epoch },
    { is: "equal", path: ["st"], value: "attached" },
    { is: "more-than", path: ["x"], value: nowMs },
  ],
  otherwise: "reload",
});

const sessionItem = (session: Session): Item => ({
  v: session.version,
  ep: session.epoch,
  st: session.state,
  to: session.timeoutSeconds,
  x: session.expiresAtMs,
  ...(session.detachedEpochs.length > 0 && { det: JSON.stringify(session.detachedEpochs) }),
  ...(session.state !== "attached" && { ttl: Math.ceil(session.expiresAtMs / 1000) + SESSION_REMEMBERED_SECONDS }),
});

export const readSession = (name: string, item: Item): Session => ({
  name,
  version: whole(item, "v"),
  epoch: whole(item, "ep"),
  state: stateOf(item),
  timeoutSeconds: whole(item, "to"),
  expiresAtMs: whole(item, "x"),
  detachedEpochs: "det" in item ? (json(item, "det") as [number, number][]) : [],
});

const stateOf = (item: Item): Session["state"] => {
  const state = text(item, "st");
  if (state === "attached" || state === "detached" || state === "expired") return state;
  throw new Unreadable(item, `st is ${state}`);
};
