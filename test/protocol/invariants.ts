/** What must hold in every state, and of every step: the invariants of docs/guarantees.md as far as the model has their matter. */
import { type Branch, hasWork, type Outcome } from "../../shared/domain/branch.ts";
import { isLeaseInForce } from "../../shared/domain/run.ts";
import { fateOf, isAliveAt } from "../../shared/domain/session.ts";
import { commit, rollback } from "../../shared/domain/verb.ts";
import type { Protocol, Step } from "./actors.ts";
import { isPastEnding } from "./effects.ts";
import { branchNames, type Life, listed, nowOf, type SessionName, sessionNames, type World } from "./table.ts";

/** The invariant that this table breaks, whoever is doing what. */
export const brokenInWorld = (world: World, protocol: Protocol): string | undefined =>
  brokenInLives(world) ?? brokenMessage(world) ?? brokenSessions(world) ?? brokenRecovery(world, protocol);

/** The invariant that this step breaks. */
export const brokenByStep = (before: World, after: World, step: Step): string | undefined => {
  for (const x of branchNames) {
    const isPrepared = before[x]?.state.name === "prepared";
    if (isPrepared && after[x] !== before[x] && step.decides !== x) {
      return "a prepared branch is changed by nothing but its decision";
    }
  }
  const rare = brokenSuspended(before, after, step) ?? brokenByHand(before, after, step);
  if (rare !== undefined) return rare;
  if (before.M === undefined && after.M !== undefined) return "a settled message never returns";
  if (/takes the message/.test(step.does) && isTaken(before))
    return "nobody gets a message that is held, or leased to another";
  const token = /accepts the message/.test(step.does) ? /(S[12])(?:@1)?: /.exec(step.does)?.[1] : undefined;
  const slot = before.M?.slots[0];
  if (token !== undefined && slot?.state === "leased" && slot.lease.token !== token) {
    return "a message is settled under its own lease only";
  }
  const work = / in (S[12])@1: (?:starts|joins|stores|enqueues|accepts)/.exec(step.does)?.[1];
  if (work !== undefined && before.past.answered.some((answer) => answer.endsWith(work))) {
    return "no work of an older epoch lands once the resume or detach has answered";
  }
  return undefined;
};

/** A suspended association is one without work: its branch waits for it. */
const brokenSuspended = (before: World, after: World, step: Step): string | undefined => {
  const [, session, worked] = / in (S[12])@1: (?:enqueues|accepts the message) in ([XY])/.exec(step.does) ?? [];
  for (const x of branchNames) {
    const branch = before[x];
    const suspended = branch?.associations.filter(({ isSuspended }) => isSuspended) ?? [];
    if (worked === x && suspended.some(({ name }) => name === session)) {
      return "nobody works in a branch that it has suspended";
    }
    const isPrepared = after[x]?.state.name === "prepared" && after[x] !== branch;
    const isCommitted = step.decides === x && after.past.lives[branch?.incarnation ?? ""]?.outcome === "commit";
    if (branch?.state.name === "open" && suspended.length > 0 && (isPrepared || isCommitted)) {
      return "a suspended branch is neither prepared nor committed";
    }
  }
  return undefined;
};

/** What an operator decides is decided once, on a branch in doubt, and stays to be told until someone forgets it. */
const brokenByHand = (before: World, after: World, step: Step): string | undefined => {
  for (const x of branchNames) {
    const [was, is] = [outcomeByHand(before[x]), outcomeByHand(after[x])];
    const isSame = before[x]?.incarnation === after[x]?.incarnation;
    if (is !== undefined && was === undefined && !(isSame && before[x]?.state.name === "prepared")) {
      return "only a prepared branch is decided by hand";
    }
    const isForget = step.does.startsWith(`forget ${x}: `);
    if (isForget && before[x] !== after[x] && before[x]?.state.name !== "heuristic") {
      return "only what was decided by hand is forgotten";
    }
    if (was !== undefined && (is !== was || !isSame) && !isForget) {
      return "what was decided by hand stays so until it is forgotten";
    }
  }
  return undefined;
};

const outcomeByHand = (branch: Branch | undefined): Outcome | undefined => {
  if (branch?.state.name === "heuristic") return branch.state.outcome;
  if (branch?.state.name !== "deciding" || branch.state.decision.leaves !== "heuristic") return undefined;
  return branch.state.decision.outcome;
};

const isTaken = (world: World): boolean => {
  const slot = world.M?.slots[0];
  if (slot?.state === "held") return true;
  const isAlive = (name: SessionName, epoch: number) => isAliveAt(world[name], epoch, nowOf(world, name));
  return (
    slot?.state === "leased" &&
    isLeaseInForce(slot.lease, nowOf(world, "M"), ({ name, epoch }) => isAlive(name === "S1" ? "S1" : "S2", epoch))
  );
};

const livingWith = (world: World, incarnation: string): Branch | undefined =>
  branchNames.map((x) => world[x]).find((branch) => branch?.incarnation === incarnation);

const brokenInLives = (world: World): string | undefined => {
  for (const [incarnation, life] of Object.entries(world.past.lives)) {
    const broken = brokenLife(world, incarnation, life);
    if (broken !== undefined) return `${broken} (${incarnation})`;
  }
  return undefined;
};

const brokenLife = (world: World, incarnation: string, life: Life): string | undefined => {
  const branch = livingWith(world, incarnation);
  const { outcome, added, removed, copies } = life;
  if (outcome === "both") return "an incarnation has one outcome";
  if (branch === undefined && outcome === undefined) return "a branch does not vanish";
  if (branch !== undefined && outcome !== undefined && ["open", "prepared"].includes(branch.state.name)) {
    return "a branch that was decided is not open again";
  }
  if (branch?.state.name === "heuristic") {
    if (hasWork(branch)) return "what was decided by hand is applied at once";
    const told = [commit(branch, true), commit(branch, false), rollback(branch)];
    const xa = outcome === "commit" ? "XA_HEURCOM" : "XA_HEURRB";
    if (!told.every((verdict) => "effect" in verdict && verdict.effect === "nothing" && verdict.xa === xa)) {
      return "whoever asks is told the outcome that was decided by hand";
    }
  }
  if (life.isLate && (outcome === "commit" || branch?.state.name === "prepared")) {
    return "work that landed behind the fence of its session is never prepared or committed";
  }
  if (copies > 1) return "an add is applied once";
  if (copies === 1 && outcome !== "commit") return "an add is visible only by a commit";
  if (outcome === "commit" && added && copies === 0 && !listed(branch, "add")) return "a commit applies every add";
  const slot = world.M?.slots[0];
  const isHeld = slot?.state === "held" && slot.incarnation === incarnation;
  if (isHeld && !listed(branch, "remove")) return "a held message is listed by the branch that holds it";
  if (listed(branch, "remove") && !isHeld) return "what a branch lists as removed is held by it";
  if (outcome === "commit" && removed && !listed(branch, "remove") && world.M !== undefined) {
    return "a commit settles every message that it removes";
  }
  return undefined;
};

const brokenMessage = (world: World): string | undefined => {
  if (world.past.settled > 1) return "a message is settled once";
  return (world.M === undefined) === (world.past.settled === 1) ? undefined : "a message is in one place or settled";
};

const brokenSessions = (world: World): string | undefined => {
  for (const name of sessionNames) {
    const session = world[name];
    if (world.past.actedOn.includes(`${name}@1`) && isAliveAt(session, 1, nowOf(world, name))) {
      return `on whose end someone has acted, that session is not alive again (${name})`;
    }
    const isFenced = world.past.answered.some((answer) => answer.endsWith(name));
    const isResumed = world.past.answered.includes(`resume ${name}`);
    const isIt = (worker: { name: string; epoch: number }) => worker.name === name && worker.epoch === 1;
    for (const x of branchNames) {
      const branch = world[x];
      if (branch?.state.name !== "open") continue;
      if (isFenced && branch.associations.some(isIt))
        return `no branch goes on with a session whose end was answered (${x}, ${name})`;
      if (isResumed && fateOf(session, 1, 0) === "dead" && branch.workers.some(isIt)) {
        return `once a resume has answered, nothing unprepared of older epochs is left (${x})`;
      }
    }
  }
  return undefined;
};

/** If everyone stopped here: recovery ends, touches nothing alive, and whatever is decided then, all comes to rest. */
const brokenRecovery = (world: World, protocol: Protocol): string | undefined => {
  const recovered = protocol.recoverAlone(world);
  if (recovered === undefined) return "recovery ends";
  for (const x of branchNames) {
    if (isUntouchable(world, world[x]) && recovered[x] !== world[x])
      return `recovery touches nothing alive and decides nothing prepared (${x})`;
  }
  const late = protocol.recoverAlone({ ...recovered, over: ["M", "S1", "S2", "X", "Y"] });
  if (late === undefined) return "recovery ends";
  for (const way of protocol.ways) {
    const rest = protocol.decideAll(late, way);
    const broken =
      rest === undefined ? "a prepared branch can be decided" : (brokenInLives(rest) ?? brokenMessage(rest));
    if (broken !== undefined) return `after a stop of everyone, recovery and a ${way}: ${broken}`;
    if (rest?.M?.slots[0]?.state === "held")
      return `after a stop of everyone, recovery and a ${way}: no message is held for ever`;
    if (branchNames.some((x) => rest?.[x] !== undefined && isPastEnding(rest[x])))
      return `after a stop of everyone, recovery and a ${way}: nothing decided is left on the list`;
  }
  return undefined;
};

const isUntouchable = (world: World, branch: Branch | undefined): boolean => {
  if (branch === undefined || branch.state.name === "prepared" || branch.state.name === "heuristic") return true;
  if (branch.state.name !== "open" || world.over.includes(branch.incarnation.startsWith("X") ? "X" : "Y")) return false;
  return branch.workers.every(({ name, epoch }) => {
    const session = name === "S1" ? "S1" : "S2";
    return isAliveAt(world[session], epoch, nowOf(world, session));
  });
};
