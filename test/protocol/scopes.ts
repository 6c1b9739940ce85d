/**
 * What is walked. All calls of everyone together are too many states for a machine of today, so the whole is walked in
 * scopes: each has both sessions, both branches, both clients and both recoverers, the message and time, and leaves out
 * some calls that the other scopes have. The message, the leases and the competition for them are in every one.
 */
import type { Scope } from "./actors.ts";
import { asBuilt, type Rules } from "./rules.ts";
import type { RecordName } from "./table.ts";

const once = { large: [], lives: { X: 1, Y: 1 } } as const;

/** Calls that a scope has only when it names them. */
const rare = /^(?:suspend|take up|fail|heuristic|forget) /;
const none = /(?!)/;

/** `left`: the calls that are left out. `more`: the rare calls that are not. */
const scope = (
  left: RegExp,
  ages: readonly RecordName[],
  sizes: Scope["sizes"] = once,
  more: RegExp = none,
): Scope => ({
  sizes,
  rules: asBuilt,
  wanted: (call) => !left.test(call) && (!rare.test(call) || more.test(call)),
  ages,
});

/** Seconds to minutes each: `node test/protocol/walk.ts`. */
export const whole: Readonly<Record<string, Scope>> = {
  "a session is resumed under a newer epoch, its branch joined by the other": scope(
    /detach|resume S2|(?:enqueue|one-phase commit|commit) Y in|keep alive S2/,
    ["S1", "X", "M"],
  ),
  "a session is detached, having joined a branch of the other": scope(
    /resume|detach S1|(?:enqueue|one-phase commit|commit) Y in|keep alive S1/,
    ["S2", "X", "M"],
  ),
  "both sessions may expire": scope(/resume|detach|(?:enqueue|one-phase commit|commit) Y in/, ["S1", "S2", "Y"]),
  "a branch larger than one commit": scope(
    /detach|resume S2|join|(?:enqueue|one-phase commit|commit) Y in|keep alive/,
    ["S1", "X"],
    { ...once, large: ["X"] },
  ),
  "an xid is used again": scope(/ Y|resume S2|detach|join/, ["S1", "X", "M"], { large: [], lives: { X: 2, Y: 1 } }),
  "a branch is suspended and taken up again, or fails": scope(
    /detach|resume S2|(?:enqueue|one-phase commit|commit) Y in|keep alive/,
    ["S1", "X"],
    once,
    /^(?:suspend|take up|fail) X/,
  ),
  "a branch in doubt is decided by hand": scope(
    /detach|resume|(?:enqueue|one-phase commit|commit) Y in|keep alive/,
    ["S1", "X", "M"],
    { ...once, large: ["X"] },
    /^(?:heuristic|forget)/,
  ),
  "a large branch fails or is decided by hand, and its xid is used again": scope(
    / Y|detach|resume|join|keep alive/,
    ["S1", "X", "M"],
    { large: ["X"], lives: { X: 2, Y: 1 } },
    /^(?:fail|heuristic|forget)/,
  ),
};

/** The part of it that `npm test` has time for. */
export const slice: Scope = scope(
  /detach|resume S2|join|(?:enqueue|one-phase commit|commit|rollback) Y in|decide Y|keep alive S2|rollback X in/,
  ["S1", "X"],
);

/** A scope in which the loss of a rule shows, and what then breaks. */
export interface Seeded {
  readonly rule: keyof Rules;
  readonly scope: Scope;
  readonly breaks: RegExp;
}

const resumed = scope(/detach|resume S2|join| Y/, ["S1", "X", "M"]);
const large = { ...resumed, sizes: { ...once, large: ["X"] } } as const;
const both = scope(/detach|resume S2|enqueue Y/, ["S1", "X", "M"]);
const suspended = scope(/detach|resume S2|join| Y/, ["S1", "X"], once, /^(?:suspend|take up|fail) X/);
const byHand = scope(/detach|resume|join| Y/, ["X"], { large: [], lives: { X: 2, Y: 1 } }, /^(?:heuristic|forget)/);

/** The rare calls, which the slice has not, with one branch: `npm test` has time for these too. */
export const rareSlices: Readonly<Record<string, Scope>> = {
  "a branch is suspended or fails": suspended,
  "a branch is decided by hand": byHand,
};

/** Every rule, left out alone. */
export const seeded: readonly Seeded[] = [
  { rule: "startChecksSession", scope: resumed, breaks: /whose end was answered|lands once the resume/ },
  { rule: "verbsMeetSessions", scope: resumed, breaks: /whose end was answered/ },
  { rule: "closesBeforeActing", scope: both, breaks: /that session is not alive again/ },
  { rule: "workNamesBranch", scope: resumed, breaks: /a branch that was decided is not open again/ },
  { rule: "prepareNamesBranch", scope: both, breaks: /a branch that was decided is not open again/ },
  { rule: "completionNamesBranch", scope: both, breaks: /an incarnation has one outcome/ },
  { rule: "doomNamesBranch", scope: both, breaks: /a prepared branch is changed by nothing but its decision/ },
  { rule: "partsAreListed", scope: large, breaks: /an add is applied once/ },
  { rule: "undoingGoesOn", scope: large, breaks: /no message is held for ever|is listed by the branch that holds it/ },
  { rule: "acquireNamesRun", scope: both, breaks: /nobody gets a message that is held, or leased to another/ },
  { rule: "acquireSparesLeases", scope: both, breaks: /nobody gets a message that is held, or leased to another/ },
  { rule: "acquireSparesHolds", scope: resumed, breaks: /nobody gets a message that is held, or leased to another/ },
  { rule: "settlingNamesLease", scope: both, breaks: /settled under its own lease/ },
  { rule: "settlingNamesRun", scope: both, breaks: /a message is settled once|settled under its own lease/ },
  { rule: "preparedIsKept", scope: both, breaks: /decides nothing prepared|nothing but its decision/ },
  { rule: "completionIsWhole", scope: resumed, breaks: /a commit applies every add/ },
  { rule: "completionAwaitsEnd", scope: both, breaks: /landed behind the fence/ },
  { rule: "keepAliveIsFenced", scope: resumed, breaks: /whose end was answered/ },
  { rule: "suspendedMayNotWork", scope: suspended, breaks: /nobody works in a branch that it has suspended/ },
  { rule: "suspendedIsAssociated", scope: suspended, breaks: /a suspended branch is neither prepared nor committed/ },
  { rule: "heuristicNeedsPrepared", scope: byHand, breaks: /only a prepared branch is decided by hand/ },
  { rule: "heuristicIsFinal", scope: byHand, breaks: /stays so until it is forgotten/ },
  { rule: "heuristicNamesBranch", scope: byHand, breaks: /only a prepared branch is decided by hand/ },
  { rule: "forgetNamesBranch", scope: byHand, breaks: /only what was decided by hand is forgotten/ },
];
