/** Sessions: named, fenced by an epoch that never repeats, alive until detached, expired or resumed under a newer one. */
import { DETACHED_RANGES } from "./limits.ts";
import { type Refusal, refuse } from "./refusal.ts";

/** A session as it was at one epoch. */
export interface SessionRef {
  readonly name: string;
  readonly epoch: number;
}

export interface Session {
  readonly name: string;
  readonly version: number;
  readonly epoch: number;
  /** `attached` also after its expiry has passed: time alone ends it, `isAliveAt` says so. */
  readonly state: "attached" | "detached" | "expired";
  readonly timeoutSeconds: number;
  readonly expiresAtMs: number;
  /** Ranges of epochs that ended by a complete detach: what they had properly ended stays. Ascending, disjoint. */
  readonly detachedEpochs: readonly (readonly [first: number, last: number])[];
  /** Commands stored so far, which is the id of the newest; they go on counting from epoch to epoch. */
  readonly commands: number;
  /** No command up to this id is open; more may be complete. */
  readonly completedThrough: number;
  /** It stands on the list of sessions with commands. */
  readonly isListed: boolean;
}

export const isAliveAt = (session: Session | undefined, epoch: number, nowMs: number): boolean =>
  session !== undefined && session.epoch === epoch && session.state === "attached" && session.expiresAtMs > nowMs;

/** How a branch must see an epoch that worked in it: alive, properly detached, or ended otherwise. */
export const fateOf = (session: Session | undefined, epoch: number, nowMs: number): "alive" | "detached" | "dead" => {
  if (isAliveAt(session, epoch, nowMs)) return "alive";
  return isDetached(session, epoch) ? "detached" : "dead";
};

/** The fence: a refusal unless the session is alive at the epoch. */
export const fence = (session: Session | undefined, ref: SessionRef, nowMs: number): Refusal | undefined => {
  if (session === undefined) return refuse("not-found", `session ${ref.name} does not exist`);
  if (session.epoch !== ref.epoch) {
    return refuse("session-fenced", `epoch ${ref.epoch} is not the current one of session ${ref.name}`);
  }
  if (isAliveAt(session, ref.epoch, nowMs)) return undefined;
  const how = session.state === "detached" ? "has been detached" : "has expired";
  return refuse("session-fenced", `session ${ref.name} ${how}: attach again`);
};

/** Attach or resume: a new name starts at epoch 1, an old one goes on counting; the older epoch is fenced by it. */
export const attach = (before: Session | undefined, name: string, timeoutSeconds: number, nowMs: number): Session => ({
  name,
  version: (before?.version ?? 0) + 1,
  epoch: (before?.epoch ?? 0) + 1,
  state: "attached",
  timeoutSeconds,
  expiresAtMs: nowMs + timeoutSeconds * 1000,
  detachedEpochs: before?.detachedEpochs ?? [],
  commands: before?.commands ?? 0,
  completedThrough: before?.completedThrough ?? 0,
  isListed: before?.isListed ?? false,
});

/** Whether a command may be open: what is sent now goes behind it. */
export const mayHaveOpenCommands = (session: Session | undefined): boolean =>
  session !== undefined && session.commands > session.completedThrough;

/** The epoch was detached: nobody waits for what its commands come to. */
export const isDetached = (session: Session | undefined, epoch: number): boolean =>
  session?.detachedEpochs.some(([first, last]) => first <= epoch && epoch <= last) ?? false;

/** Keep alive, at the epoch that the fence has passed. */
export const renew = (session: Session, timeoutSeconds: number, nowMs: number): Session => ({
  ...session,
  version: session.version + 1,
  timeoutSeconds,
  expiresAtMs: nowMs + timeoutSeconds * 1000,
});

/**
 * Nothing of this epoch is accepted from now on. A detach of a living session notes the epoch as detached: what it had
 * properly ended before stands by itself. After an expiry it does not.
 */
export const close = (session: Session, nowMs: number): Session => {
  const isDetach = isAliveAt(session, session.epoch, nowMs);
  return {
    ...session,
    version: session.version + 1,
    state: isDetach ? "detached" : "expired",
    // What is remembered of it is counted from here: one that nobody closed for days is not forgotten at once.
    expiresAtMs: Math.max(session.expiresAtMs, nowMs),
    detachedEpochs: isDetach ? withEpoch(session.detachedEpochs, session.epoch) : session.detachedEpochs,
  };
};

const withEpoch = (ranges: Session["detachedEpochs"], epoch: number): Session["detachedEpochs"] => {
  const last = ranges.at(-1);
  if (last !== undefined && last[1] >= epoch) return ranges;
  if (last !== undefined && last[1] === epoch - 1) return [...ranges.slice(0, -1), [last[0], epoch]];
  return [...ranges, [epoch, epoch] as const].slice(-DETACHED_RANGES);
};
