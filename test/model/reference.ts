/**
 * The contract as a broker in memory, one call after the other, and eager: what time or the end of a session does is done
 * at once. What a caller cannot foresee (ids, sequences, the moment when an ended message is moved on) is learned from
 * answers; here stands what must hold for it.
 */
import { columns, ILLEGAL, OK, ROLLED_BACK, TIMED_OUT, table } from "./state-table.ts";
import type { Branch, Delivery, Due, Message, Outcome, Queue, Ref, Refused, Session, Verb, Verdict } from "./values.ts";

const DAY_MS = 86_400_000;

const isSame = (a: Ref, b: Ref): boolean => a.name === b.name && a.epoch === b.epoch;
const bytes = (messages: readonly Message[]): number => messages.reduce((sum, m) => sum + m.body.length, 0);
const orEver = (limit: number | null): number => limit ?? Number.POSITIVE_INFINITY;
const isHeuristic = ({ state }: Branch): boolean => state.startsWith("heuristically");

export class Broker {
  readonly queues = new Map<string, Queue>();
  readonly deleted: Queue[] = [];
  readonly sessions = new Map<string, Session>();
  readonly detached = new Set<string>();
  readonly branches = new Map<string, Branch>();
  readonly outcomes = new Map<string, Outcome>();
  due: Due[] = [];
  nowMs = 0;

  /** What time and the ends of sessions have done by now: to branches, then to leases, then to messages. */
  settle(): void {
    for (const branch of this.branches.values()) this.#meet(branch);
    for (const queue of [...this.queues.values(), ...this.deleted]) {
      for (const m of queue.messages) if (m.state === "leased" && this.#isOver(m.lease)) this.#free(m);
      const end = (isOver: (m: Message) => boolean, reason?: string) => {
        const over = queue.messages.filter((m) => m.state === "available" && isOver(m));
        for (const m of over) m.isEnded = true;
        this.leave(queue, over, reason);
      };
      end((m) => m.dropAtMs <= this.nowMs);
      end((m) => m.expiresAtMs <= this.nowMs, "expired");
      end((m) => m.deliveries >= orEver(queue.settings.maxDeliveries || null), "max-deliveries");
      const rest = queue.messages.filter((m) => m.state !== "held");
      if (queue.deletedAtMs !== undefined) this.leave(queue, rest, "queue-deleted");
    }
  }

  #meet(b: Branch): void {
    if (b.state === "prepared" || isHeuristic(b)) return;
    const left = b.associations.filter((a) => this.fateOf(a) === "alive");
    const isLost = left.length < b.associations.length || b.workers.some((w) => this.fateOf(w) === "dead");
    b.associations = left;
    if (b.deadlineMs <= this.nowMs) this.#doom(b, "timed-out");
    else if (b.state === "open" && isLost) this.#doom(b, "rollback-only");
  }

  /** The branch's work never was: what it removed is back at its place. */
  #doom(b: Branch, state: Branch["state"]): void {
    b.state = state;
    for (const { message } of b.removes.splice(0)) this.#free(message);
    b.adds.length = 0;
  }

  #free(m: Message, visibleAtMs = 0): void {
    Object.assign(m, { state: "available", lease: undefined, holder: undefined, visibleAtMs });
  }

  /** Messages leave their queue for good: with a reason for the dead-letter queue, if there is one. */
  leave(from: Queue, messages: readonly Message[], reason?: string): void {
    if (messages.length === 0) return;
    from.messages = from.messages.filter((m) => !messages.includes(m));
    for (const m of messages) m.state = "gone";
    const target = from.settings.deadLetterQueue;
    if (reason !== undefined && target !== null) this.due.push({ target, from, messages, reason });
    else from.settled.push(...messages);
  }

  /** Letters found on their queue, in its order; what else was due there has been dropped. */
  arrive(target: string, letters: readonly Message[]): void {
    for (const { from, messages } of this.due.filter((due) => due.target === target)) {
      for (const m of messages) (letters.some(({ id }) => id === m.id) ? from.dead : from.settled).push(m);
    }
    this.due = this.due.filter((due) => due.target !== target);
    for (const letter of letters) this.#put(this.queues.get(target), letter);
  }

  #put(queue: Queue | undefined, m: Message): void {
    if (queue === undefined) return;
    const expiresAtMs = this.nowMs + Math.min(m.ttlMs, orEver(queue.settings.messageTtlSeconds) * 1000);
    const dropAtMs = this.nowMs + orEver(queue.settings.retentionSeconds) * 1000;
    queue.messages.push(Object.assign(m, { state: "available", putAtMs: this.nowMs, expiresAtMs, dropAtMs }));
    queue.enqueued += 1;
    const { deduplicationId: id } = m;
    if (id !== undefined) queue.firsts.set(id, { message: m, untilMs: this.nowMs + DAY_MS });
  }

  fateOf({ name, epoch }: Ref): "alive" | "detached" | "dead" {
    if (this.detached.has(`${name}@${epoch}`)) return "detached";
    const session = this.sessions.get(name);
    return session?.epoch === epoch && !session.isClosed && session.expiresAtMs > this.nowMs ? "alive" : "dead";
  }

  #isOver(lease: Message["lease"]): boolean {
    return lease === undefined || lease.expiresAtMs <= this.nowMs || this.fence(lease.by) !== undefined;
  }

  fence(by: Ref | undefined): Refused {
    if (by === undefined || this.fateOf(by) === "alive") return undefined;
    return this.sessions.has(by.name) ? "session-fenced" : "not-found";
  }

  available(queue: Queue): readonly Message[] {
    return queue.messages.filter((m) => m.state === "available" && m.visibleAtMs <= this.nowMs);
  }

  /** What stands on the queue or will, once prepared branches are committed. */
  using(queue: Queue): readonly Message[] {
    const prepared = [...this.branches.values()].filter(({ state }) => state === "prepared");
    const reserved = prepared.flatMap(({ adds }) => adds.filter((add) => add.queue === queue));
    return [...queue.messages, ...reserved.map(({ message }) => message)];
  }

  /** The messages that a ring queue drops so that these fit; undefined when they cannot fit. */
  #roomFor(queue: Queue, entering: readonly Message[]): readonly Message[] | undefined {
    const { maxMessages, maxBytes, overflow } = queue.settings;
    const all = [...this.using(queue), ...entering];
    const dropped: Message[] = [];
    const fits = () =>
      all.length - dropped.length <= orEver(maxMessages) && bytes(all) - bytes(dropped) <= orEver(maxBytes);
    for (const m of overflow === "ring" ? this.available(queue) : []) if (!fits()) dropped.push(m);
    return fits() ? dropped : undefined;
  }

  #firstOf(queue: Queue, { deduplicationId: id }: Message): Message | undefined {
    const first = id === undefined ? undefined : queue.firsts.get(id);
    return first !== undefined && first.untilMs > this.nowMs ? first.message : undefined;
  }

  /** Puts messages on the queue, or on the branch; what each has become: itself, or the first of its deduplication id. */
  enqueue(queue: Queue, messages: readonly Message[], branch: Branch | undefined): readonly Message[] | undefined {
    const earlier = (m: Message) =>
      m.deduplicationId === undefined ? m : messages.find((one) => one.deduplicationId === m.deduplicationId);
    const became = messages.map((m) => this.#firstOf(queue, m) ?? earlier(m) ?? m);
    const wanted = messages.filter((m, i) => became[i] === m);
    const dropped = branch === undefined ? this.#roomFor(queue, wanted) : [];
    if (dropped === undefined) return undefined;
    this.leave(queue, dropped);
    for (const message of wanted) {
      if (branch === undefined) this.#put(queue, message);
      else branch.adds.push({ queue, message });
    }
    return became;
  }

  deliver(queue: Queue, message: Message, leaseMs: number | undefined, by: Ref | undefined): Delivery {
    message.deliveries += 1;
    if (leaseMs === undefined) this.leave(queue, [message]);
    else Object.assign(message, { state: "leased", lease: { expiresAtMs: this.nowMs + leaseMs, by } });
    return { message, queue, lease: message.lease };
  }

  /** The right outcomes of a delivery: two where time has ended the message, and nobody may have met it yet. */
  judge({ message: m, queue, lease }: Delivery, branch: Branch | undefined): readonly string[] {
    if (m.state === "gone") return ["not-found", ...(m.isEnded ? ["lease-lost"] : [])];
    const isGone = queue.deletedAtMs !== undefined;
    if (m.state === "held") return [m.holder === branch ? "ok" : "locked", ...(isGone ? ["not-found"] : [])];
    return m.state === "leased" && m.lease === lease ? ["ok"] : ["lease-lost"];
  }

  accept({ message, queue }: Delivery, branch: Branch | undefined): void {
    if (branch === undefined) this.leave(queue, [message]);
    else if (message.state === "leased") {
      Object.assign(message, { state: "held", holder: branch });
      branch.removes.push({ queue, message });
    }
  }

  release(deliveries: readonly Delivery[], delayMs: number): void {
    for (const { message } of deliveries) this.#free(message, delayMs === 0 ? 0 : this.nowMs + delayMs);
    this.settle();
  }

  /** The next epoch of the name; the one before is over. */
  attach(name: string, timeoutSeconds: number): Session {
    const epoch = (this.sessions.get(name)?.epoch ?? 0) + 1;
    const session = { name, epoch, timeoutSeconds, expiresAtMs: this.nowMs + timeoutSeconds * 1000, isClosed: false };
    this.sessions.set(name, session);
    this.settle();
    return session;
  }

  detach(session: Session): void {
    if (this.fateOf(session) === "alive") this.detached.add(`${session.name}@${session.epoch}`);
    session.isClosed = true;
    this.settle();
  }

  start(xid: string, by: Ref, how: { join: boolean; resume: boolean; timeoutSeconds: number }): Verdict {
    const b = this.branches.get(xid);
    const mine = b?.associations.find((a) => isSame(a, by));
    if (how.join && how.resume) return "command-invalid";
    if (b !== undefined && !how.join && !how.resume) return "not-allowed";
    if (b === undefined && (how.join || how.resume)) return "not-found";
    if (b === undefined) {
      const [timeoutSeconds, workers] = [how.timeoutSeconds || 60, [by]];
      const deadlineMs = this.nowMs + timeoutSeconds * 1000;
      const branch = { startedBy: by.name, workers, adds: [], removes: [], timeoutSeconds, deadlineMs };
      this.branches.set(xid, { ...branch, state: "open", associations: [{ ...by, isSuspended: false }] });
      return OK;
    }
    if (how.resume && !mine?.isSuspended) return mine !== undefined && b.state === "open" ? OK : "command-invalid";
    if (b.state === "timed-out") return TIMED_OUT;
    if (how.join && mine !== undefined) return ILLEGAL;
    if (b.state !== "open") return b.state === "rollback-only" ? ROLLED_BACK : ILLEGAL;
    if (mine !== undefined) mine.isSuspended = false;
    else b.associations.push({ ...by, isSuspended: false });
    b.workers.push(by);
    return OK;
  }

  end(xid: string, by: Ref, how: { suspend: boolean; fail: boolean }): Verdict {
    const b = this.branches.get(xid);
    const mine = b?.associations.find((a) => isSame(a, by));
    if (how.suspend && how.fail) return "command-invalid";
    if (b === undefined || mine === undefined) return ILLEGAL;
    if (how.suspend && b.state === "open") {
      if (mine.isSuspended) return ILLEGAL;
      mine.isSuspended = true;
      return OK;
    }
    b.associations = b.associations.filter((a) => a !== mine);
    if (b.state === "timed-out") return TIMED_OUT;
    if (b.state === "open" && how.fail) this.#doom(b, "rollback-only");
    this.settle();
    return b.state === "open" ? OK : ROLLED_BACK;
  }

  /** Everything that brings a branch on: what it answers, and what becomes of the branch. */
  complete(xid: string, verb: Verb): Verdict {
    const b = this.branches.get(xid);
    const outcome = verb === "rollback" || verb === "decideRollback" ? "rolled-back" : "committed";
    if (b === undefined) return this.#past(xid, verb, outcome);
    if (isHeuristic(b)) {
      if (verb === "forget") return this.#over(xid, b.state.replace("heuristically-", ""), false, OK);
      if (verb !== "commit" && verb !== "onePhase" && verb !== "rollback") return ILLEGAL;
      return b.state === "heuristically-committed" ? "XA_HEURCOM" : "XA_HEURRB";
    }
    const isAssociated = b.state !== "timed-out" && b.associations.length > 0;
    const verdict = table[verb][columns.indexOf(isAssociated ? "associated" : b.state)] ?? ILLEGAL;
    if (verdict === TIMED_OUT || (verdict === ROLLED_BACK && verb !== "prepare")) {
      return this.#over(xid, "rolled-back", false, verdict);
    }
    if (verdict !== OK) return verdict;
    if ((verb === "prepare" || verb === "onePhase") && !this.#reserve(b)) {
      this.#doom(b, "rollback-only");
      this.settle();
      return verb === "prepare" ? ROLLED_BACK : this.#over(xid, "rolled-back", false, ROLLED_BACK);
    }
    if (verb === "prepare") b.state = "prepared";
    else if (verb.startsWith("decide")) b.state = `heuristically-${outcome}`;
    else this.#over(xid, outcome, true, OK);
    if (verb !== "prepare") this.#apply(b, outcome);
    return OK;
  }

  /** A completion may be repeated for 24 h, as long as it is the same one. */
  #past(xid: string, verb: Verb, outcome: string): Verdict {
    const past = this.outcomes.get(xid);
    const isKnown = past?.isRepeatable && past.untilMs > this.nowMs;
    if (!isKnown || !["commit", "onePhase", "rollback"].includes(verb)) return "not-found";
    return past.state === outcome ? OK : ILLEGAL;
  }

  #over(xid: string, state: string, isRepeatable: boolean, answer: Verdict): Verdict {
    this.branches.delete(xid);
    this.outcomes.set(xid, { state, isRepeatable, untilMs: this.nowMs + DAY_MS });
    return answer;
  }

  /** Every limited queue has room for what the branch adds, or none is touched. */
  #reserve({ adds }: Branch): boolean {
    const live = adds.filter(({ queue }) => queue.deletedAtMs === undefined);
    const rooms = [...Map.groupBy(live, ({ queue }) => queue)].map(([queue, of]) => {
      const entering = of.map(({ message }) => message);
      return { queue, dropped: this.#roomFor(queue, entering) };
    });
    if (rooms.some(({ dropped }) => dropped === undefined)) return false;
    for (const { queue, dropped = [] } of rooms) this.leave(queue, dropped);
    return true;
  }

  #apply(b: Branch, outcome: string): void {
    if (outcome === "rolled-back") this.#doom(b, b.state);
    for (const { queue, message } of b.removes.splice(0)) this.leave(queue, [message]);
    for (const [queue, of] of Map.groupBy(b.adds.splice(0), (add) => add.queue)) {
      const messages = of.map(({ message }) => message);
      if (queue.deletedAtMs !== undefined) this.leave(queue, messages, "queue-deleted");
      else for (const m of messages) if (this.#firstOf(queue, m) === undefined) this.#put(queue, m);
    }
    this.settle();
  }
}
