/**
 * Who acts: two clients that make any call at any time, two recoverers that also resume and detach sessions and decide
 * what is in doubt, and time. Nobody remembers anything between two calls, so a crash is a call that does not go on.
 *
 * A call reads records one by one and then attempts one commit. When nothing that it read has changed meanwhile, all that
 * might as well have happened at the moment of the commit: such calls are one step here. All others are met where they
 * become different: whenever a step changes a record, each actor may turn out to be in the middle of any call that had
 * read that record before (`inMiddleOf`), and goes on with the old value. A late answer of an eventual read is the same
 * thing: a read that was made earlier.
 */
import type { Call, Sizes } from "./call.ts";
import {
  acceptCall,
  acquireCall,
  addCall,
  commitCall,
  decideCall,
  endCall,
  joinCall,
  prepareCall,
  recoverCall,
  rollbackCall,
  settleCall,
  startCall,
} from "./commands.ts";
import { failCall, forgetCall, heuristicCall, suspendCall, takeUpCall } from "./rare-calls.ts";
import type { Rules } from "./rules.ts";
import { attachCall, detachCall, keepAliveCall } from "./session-calls.ts";
import {
  type BranchName,
  branchNames,
  byText,
  type RecordName,
  type SessionName,
  sessionNames,
  type World,
} from "./table.ts";

/** A record as a call in flight has read it. */
interface Stale {
  readonly value: World[RecordName];
  readonly isOver: boolean;
  /** Written since, so that its version has passed; else only its time is over since. */
  readonly isPassed: boolean;
}

export interface Actor {
  /** What it has read that has changed since; which call it is making shows when it goes on. */
  readonly stale?: Readonly<Partial<Record<RecordName, Stale>>>;
  /** A resume or detach whose fence is done: the branches to recover before it answers. */
  readonly after?: { readonly session: SessionName; readonly todo: readonly BranchName[] };
}

export interface Step {
  readonly does: string;
  readonly world: World;
  readonly actor: Actor;
  readonly decides?: BranchName;
}

export interface Scope {
  readonly sizes: Sizes;
  readonly rules: Rules;
  /** Which calls each actor makes, time last: every call whose id passes. */
  readonly wanted: (call: string) => boolean;
  /** Sessions and branches whose time may end, and the lease's. */
  readonly ages: readonly RecordName[];
}

/** Of deciding a branch in doubt. */
export type Way = "commit" | "rollback" | "heuristic commit" | "heuristic rollback";

const ways: readonly Way[] = ["commit", "rollback"];

export const actorNames = ["client 1", "client 2", "a recoverer", "a recoverer"] as const;

const idle: Actor = {};

const own = { S1: { name: "S1", epoch: 1 }, S2: { name: "S2", epoch: 1 } } as const;

const clientCalls = (
  name: SessionName,
  home: BranchName,
  joined: readonly BranchName[],
  sizes: Sizes,
): readonly Call[] => [
  startCall(home, own[name], sizes),
  ...joined.map((x) => joinCall(x, own[name], sizes)),
  ...[home, ...joined].flatMap((x) => [
    addCall(x, own[name], sizes),
    acceptCall(x, own[name], name, sizes),
    endCall(x, own[name], sizes),
    prepareCall(x, own[name], sizes),
    commitCall(x, own[name], true, sizes),
    commitCall(x, own[name], false, sizes),
    rollbackCall(x, own[name], sizes),
    suspendCall(x, own[name], sizes),
    takeUpCall(x, own[name], sizes),
    failCall(x, own[name], sizes),
  ]),
  acquireCall(own[name], name),
  settleCall(name),
  keepAliveCall(own[name]),
];

const recovererCalls = (sizes: Sizes): readonly Call[] => [
  ...branchNames.flatMap((x) => [
    recoverCall(x, sizes),
    decideCall(x, "commit", sizes),
    decideCall(x, "rollback", sizes),
    heuristicCall(x, "commit", sizes),
    heuristicCall(x, "rollback", sizes),
    forgetCall(x, sizes),
  ]),
  ...sessionNames.flatMap((name) => [attachCall(name), detachCall(name)]),
];

/** The steps of everyone, and of time. */
export class Protocol {
  readonly #scope: Scope;
  readonly #calls: readonly (readonly Call[])[];
  readonly #byId: ReadonlyMap<string, Call>;

  constructor(scope: Scope) {
    this.#scope = scope;
    const { sizes } = scope;
    const wanted = (calls: readonly Call[]) => calls.filter(({ id }) => scope.wanted(id));
    const recoverers = wanted(recovererCalls(sizes));
    this.#calls = [
      wanted(clientCalls("S1", "X", [], sizes)),
      wanted(clientCalls("S2", "Y", ["X"], sizes)),
      recoverers,
      recoverers,
    ];
    this.#byId = new Map([...this.#calls.flat(), ...recovererCalls(sizes)].map((call) => [call.id, call]));
  }

  /** What an actor may do next, by itself. */
  steps(world: World, actor: Actor, index: number): readonly Step[] {
    if (actor.after !== undefined) return this.#afterFence(world, actor, actor.after);
    return (this.#calls[index] ?? []).flatMap((call) => this.#attempt(world, actor, call));
  }

  /** What time may do. */
  ages(world: World): readonly { readonly does: string; readonly world: World; readonly record: RecordName }[] {
    return this.#scope.ages
      .filter((record) => !world.over.includes(record) && this.#hasTime(world, record))
      .map((record) => ({
        does: `the time of ${record} is over`,
        world: { ...world, over: [...world.over, record].toSorted() },
        record,
      }));
  }

  #hasTime(world: World, record: RecordName): boolean {
    switch (record) {
      case "S1":
      case "S2":
        return world[record].state === "attached" && world[record].epoch === 1;
      case "X":
      case "Y": {
        const name = world[record]?.state.name;
        return (
          name === "open" || name === "rollback-only" || (name === "prepared" && !this.#scope.rules.preparedIsKept)
        );
      }
      case "M":
        return world.M?.slots[0]?.state === "leased";
    }
  }

  /** The states in which an actor may be found when records are changed: as it was, or with the old values in its hands. */
  inMiddleOf(before: World, after: World, actor: Actor, index: number): readonly Actor[] {
    let found: readonly Actor[] = [actor];
    for (const record of changedRecords(before, after)) {
      found = found.flatMap((each) => this.#holding(before, after, each, index, record));
    }
    return found;
  }

  #holding(before: World, after: World, actor: Actor, index: number, record: RecordName): readonly Actor[] {
    const isPassed = before[record] !== after[record];
    const known = actor.stale?.[record];
    const read = known ?? { value: before[record], isOver: before.over.includes(record), isPassed };
    const holding = {
      ...actor,
      stale: inOrder({ ...actor.stale, [record]: { ...read, isPassed: isPassed || read.isPassed } }),
    };
    const isWorthIt = (known !== undefined || this.#tellsSomething(before, record)) && this.#canUse(holding, index);
    // What it has read it cannot read again; what it has not read, it may also read later.
    if (known !== undefined) return [isWorthIt ? holding : resting(actor)];
    return isWorthIt ? [actor, holding] : [actor];
  }

  /** A session that was not alive, or a branch without a deadline, is the same to everyone who reads it later. */
  #tellsSomething(before: World, record: RecordName): boolean {
    if (record !== "S1" && record !== "S2") return true;
    const isAttached = before[record].state === "attached" && before[record].epoch === 1;
    return isAttached && (!before.over.includes(record) || !this.#scope.rules.closesBeforeActing);
  }

  /** Whether a call of this actor's may read all that, and not fail for certain: it does when it names a version that has passed. */
  #canUse({ stale = {}, after }: Actor, index: number): boolean {
    const held = Object.keys(stale) as RecordName[];
    const passed = held.filter((record) => stale[record]?.isPassed === true);
    const calls = after === undefined ? (this.#calls[index] ?? []) : this.#recovery(after);
    return calls.some((call) => {
      const { reads, names } = call.most(this.#scope.rules);
      return held.every((record) => reads.includes(record)) && !passed.some((record) => names.includes(record));
    });
  }

  /** Recovery of both branches with nobody else about; undefined when it does not end. */
  recoverAlone(world: World): World | undefined {
    let at = world;
    for (let round = 0; round < 20; round++) {
      const owed = branchNames.flatMap((x) => this.#attempt(at, {}, this.#call(`recover ${x}`)));
      const [first] = owed;
      if (first === undefined) return at;
      at = first.world;
    }
    return undefined;
  }

  /** How a branch in doubt may be decided in this scope. */
  get ways(): readonly Way[] {
    return this.#scope.wanted("heuristic commit X") ? [...ways, "heuristic commit", "heuristic rollback"] : ways;
  }

  /** The same after each prepared branch was decided, and what was decided by hand forgotten. */
  decideAll(world: World, way: Way): World | undefined {
    let at: World | undefined = world;
    for (const x of branchNames) {
      const isByHand = way === "heuristic commit" || way === "heuristic rollback";
      if (at?.[x]?.state.name === "prepared") at = this.#make(at, isByHand ? `${way} ${x}` : `decide ${x} by ${way}`);
      at = at && this.recoverAlone(at);
      if (at?.[x]?.state.name === "heuristic") at = this.#make(at, `forget ${x}`);
    }
    return at;
  }

  #make(world: World, id: string): World | undefined {
    return this.#attempt(world, {}, this.#call(id))[0]?.world;
  }

  #call(id: string): Call {
    const call = this.#byId.get(id);
    if (call === undefined) throw new Error(`there is no call ${id}`);
    return call;
  }

  #recovery({ todo }: NonNullable<Actor["after"]>): readonly Call[] {
    const [x] = todo;
    return x === undefined ? [] : [this.#call(`recover ${x}`)];
  }

  #attempt(world: World, actor: Actor, call: Call): readonly Step[] {
    const { stale = {} } = actor;
    const held = Object.keys(stale) as RecordName[];
    const { reads } = call.most(this.#scope.rules);
    if (!held.every((record) => reads.includes(record))) return [];
    const commit = call.decide(viewOf(world, actor), this.#scope.rules);
    if (commit === undefined || commit.names.some((name) => stale[name]?.isPassed === true)) return [];
    const after = commit.apply(world);
    if (after === undefined) return [];
    const does = `${commit.does}${held.length === 0 ? "" : ` (it had read ${held.join(" and ")} before)`}`;
    const decides = commit.decides === undefined ? {} : { decides: commit.decides };
    return [{ does: `${call.id}: ${does}`, world: after, actor: next(actor, call), ...decides }];
  }

  /** Recovers the branches one by one; when nothing is owed to any of them any more, the call answers. */
  #afterFence(world: World, actor: Actor, { session, todo }: NonNullable<Actor["after"]>): readonly Step[] {
    const [x, ...rest] = todo;
    const crash: Step = { does: `crashes before it has recovered for ${session}`, world, actor: idle };
    if (x === undefined) {
      const answered = [
        ...new Set([...world.past.answered, `${world[session].epoch > 1 ? "resume" : "detach"} ${session}`]),
      ].toSorted();
      return [
        crash,
        {
          does: `answers that ${session} is fenced`,
          world: { ...world, past: { ...world.past, answered } },
          actor: idle,
        },
      ];
    }
    // A resume recovers every branch that the session worked in, a detach those that it is associated with.
    const isItsOwn = world[session].epoch > 1 || world[x]?.associations.some((each) => each.name === session) === true;
    const recover = this.#call(`recover ${x}`);
    const owed = isItsOwn ? this.#attempt(world, actor, recover) : [];
    if (owed.length > 0) return [crash, ...owed];
    return [crash, { does: `finds nothing more to recover in ${x}`, world, actor: { after: { session, todo: rest } } }];
  }
}

const next = (actor: Actor, call: Call): Actor => {
  if (actor.after !== undefined) return { after: actor.after };
  const fenced = /^(?:resume|detach) (S[12])$/.exec(call.id)?.[1];
  return fenced === "S1" || fenced === "S2" ? { after: { session: fenced, todo: branchNames } } : idle;
};

const resting = (actor: Actor): Actor => (actor.after === undefined ? idle : { after: actor.after });

const viewOf = (world: World, actor: Actor): World => {
  if (actor.stale === undefined) return world;
  const view = { ...world };
  let over = world.over;
  for (const [name, { value, isOver }] of Object.entries(actor.stale)) {
    const record = name as RecordName;
    Object.assign(view, { [record]: value });
    over = over.filter((each) => each !== record);
    if (isOver) over = [...over, record];
  }
  return { ...view, over };
};

const inOrder = (stale: NonNullable<Actor["stale"]>): NonNullable<Actor["stale"]> =>
  Object.fromEntries(Object.entries(stale).toSorted(byText(([name]) => name)));

const records: readonly RecordName[] = ["S1", "S2", "X", "Y", "M"];

/** Written, or aged: its time is over now and was not before. */
const changedRecords = (before: World, after: World): readonly RecordName[] =>
  records.filter(
    (record) => before[record] !== after[record] || (after.over.includes(record) && !before.over.includes(record)),
  );
