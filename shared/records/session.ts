/**
 * The session's record: `v`, `ep` epoch, `st` state, `to` timeout (s), `x` expiry (ms), `det` detached epochs, `ttl` when
 * dead; `nc` its newest command, `dt` up to where none is open, `cl` on the list of sessions with commands.
 */
import { SESSION_REMEMBERED_SECONDS } from "../domain/limits.ts";
import type { Session, SessionRef } from "../domain/session.ts";
import { sessionKey } from "./keys.ts";
import { json, text, Unreadable, whole, wholeOrZero } from "./reading.ts";
import { absent, atVersion, type Item, type Term, type Value, type Write } from "./write.ts";

/** Creates the session's record, or changes what its epoch is; the commands of the session are left as they are. */
export const writeSession = (before: Session | undefined, after: Session): Write =>
  before === undefined
    ? {
        kind: "put",
        key: sessionKey(after.name),
        item: { ...sessionItem(after), ...commandsItem(after) },
        require: [absent],
        otherwise: "reload",
      }
    : {
        kind: "update",
        key: sessionKey(after.name),
        change: {
          set: Object.entries(sessionItem(after)).map(([attribute, value]) => [[attribute], value as Value] as const),
          ...(after.state === "attached" && { remove: [["ttl"]] }),
        },
        require: [atVersion(before.version)],
        otherwise: "reload",
      };

/** Gives the session's next command its id, at an epoch that is alive; fails when another one was stored meanwhile. */
export const countCommand = (session: Session, nowMs: number): Write => ({
  kind: "update",
  key: sessionKey(session.name),
  change: {
    set: [
      [["nc"], session.commands + 1],
      [["cl"], true],
    ],
  },
  require: [
    ...alive(session, nowMs),
    // Off the list meanwhile, it must be put there again.
    ...(session.isListed ? [{ is: "equal", path: ["cl"], value: true } as const] : []),
    session.commands === 0 ? { is: "lacks", path: ["nc"] } : { is: "equal", path: ["nc"], value: session.commands },
  ],
  otherwise: "reload",
});

/** Nothing of it is open, and while no further command is stored it stands on the list no more. */
export const unlist = (session: Session): Write => ({
  kind: "update",
  key: sessionKey(session.name),
  change: { set: [[["dt"], session.commands]], remove: [["cl"]] },
  require: [{ is: "equal", path: ["nc"], value: session.commands }],
  otherwise: "reload",
});

/** Stands beside a write that must not land after the session's fence. */
export const checkSession = (ref: SessionRef, nowMs: number): Write => ({
  kind: "check",
  key: sessionKey(ref.name),
  require: alive(ref, nowMs),
  otherwise: "reload",
});

const alive = (ref: SessionRef, nowMs: number): readonly Term[] => [
  { is: "equal", path: ["ep"], value: ref.epoch },
  { is: "equal", path: ["st"], value: "attached" },
  { is: "more-than", path: ["x"], value: nowMs },
];

const commandsItem = ({ commands, completedThrough, isListed }: Session): Item => ({
  ...(commands > 0 && { nc: commands }),
  ...(completedThrough > 0 && { dt: completedThrough }),
  ...(isListed && { cl: true }),
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
  commands: wholeOrZero(item, "nc"),
  completedThrough: wholeOrZero(item, "dt"),
  isListed: item.cl === true,
});

const stateOf = (item: Item): Session["state"] => {
  const state = text(item, "st");
  if (state === "attached" || state === "detached" || state === "expired") return state;
  throw new Unreadable(item, `st is ${state}`);
};
