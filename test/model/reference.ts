/**
 * The contract as a broker in memory, one call after the other, and eager: what time or the end of a session does is done
 * at once. What a caller cannot foresee (ids, sequences, the moment when an ended message is moved on) is learned from
 * answers; here stands what must hold for it.
 */
import type { Branch, Delivery, Due, Message, Queue, Ref, Refused, Verdict } from "./values.ts";

const DAY_MS = 86_400_000;
const isSame = (a: Ref, b: Ref): boolean => a.name === b.name && a.epoch === b.epoch;
const bytes = (messages: readonly Message[]): number => messages.reduce((sum, m) => sum + m.body.length, 0);

export class Broker {
  readonly queues = new Map<string, Queue>();
  readonly deleted: Queue[] = [];
  readonly sessions = new Map<string, Ref & { expiresAtMs: number; timeoutSeconds: number; isClosed: boolean }>();
  readonly detached = new Set<string>();
  readonly branches = new Map<string, Branch>();
  readonly outcomes = new Map<string, { state: string; isRepeatable: boolean; untilMs: number }>();
  due: Due[] = [];
  nowMs = 0;

  /** What time and the ends of sessions have done by now: to branches, then to leases, then to messages. */
  settle(): void {
    for (const branch of this.branches.values()) this.#meet(branch);
    for (const queue of [...this.queues.values(), ...this.deleted]) {
      for (const m of queue.messages) if (m.state === "leased" && !this.#isInForce(m)) this.#free(m);
      const free = () => queue.messages.filter((m) => m.state === "available");
      const most = queue.settings.maxDeliveries || Number.POSITIVE_INFINITY;
      this.#expire(
        queue,
        free().filter((m) => m.dropAtMs <= this.nowMs),
      );
      this.#expire(
        queue,
        free().filter((m) => m.expiresAtMs <= this.nowMs),
        "expired",
      );
      this.#expire(
        queue,
        free().filter((m) => m.deliveries >= most),
        "max-deliveries",
      );
      const rest = queue.messages.filter((m) => m.state !== "held");
      if (queue.deletedAtMs !== undefined) this.leave(queue, rest, "queue-deleted");
    }
  }

  #expire(queue: Queue, messages: readonly Message[], reason?: string): void {
    if (reason === undefined || queue.settings.deadLetterQueue === null) queue.unmet += messages.length;
    this.leave(queue, messages, reason);
  }

  #meet(branch: Branch): void {
    if (!["open", "rollback-only", "timed-out"].includes(branch.state)) return;
    const left = branch.associations.filter((a) => this.fateOf(a) === "alive");
    const isLost = left.length < branch.associations.length || branch.workers.some((w) => this.fateOf(w) === "dead");
    branch.associations = left;
    if (branch.deadlineMs <= this.nowMs) this.#doom(branch, "timed-out");
    else if (branch.state === "open" && isLost) this.#doom(branch, "rollback-only");
  }

  /** The branch's work never was: what it removed is back at its place. */
  #doom(branch: Branch, state: Branch["state"]): void {
    branch.state = state;
    for (const { message } of branch.removes.splice(0)) this.#free(message);
    branch.adds.length = 0;
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
    else from.settled += messages.length;
  }

  /** Letters found on their queue, in its order; what else was due there has been dropped. */
  arrive(target: string, letters: readonly Message[]): void {
    for (const { from, messages } of this.due.filter((due) => due.target === target)) {
      const arrived = messages.filter((m) => letters.some(({ id }) => id === m.id)).length;
      from.dead += arrived;
      from.settled += messages.length - arrived;
    }
    this.due = this.due.filter((due) => due.target !== target);
    for (const letter of letters) this.#put(this.queues.get(target), letter);
  }

  #put(queue: Queue | undefined, m: Message): void {
    if (queue === undefined) return;
    const { retentionSeconds, messageTtlSeconds } = queue.settings;
    const ttlMs = Math.min(m.ttlMs, (messageTtlSeconds ?? Number.POSITIVE_INFINITY) * 1000);
    const dropAtMs = this.nowMs + (retentionSeconds ?? Number.POSITIVE_INFINITY) * 1000;
    Object.assign(m, { state: "available", putAtMs: this.nowMs, expiresAtMs: this.nowMs + ttlMs, dropAtMs });
    queue.messages.push(m);
    queue.enqueued += 1;
    if (m.deduplicationId === undefined) return;
    queue.firsts.set(m.deduplicationId, { message: m, untilMs: this.nowMs + DAY_MS });
  }

  #isInForce({ lease }: Message): boolean {
    if (lease === undefined || lease.expiresAtMs <= this.nowMs) return false;
    return lease.by === undefined || this.fateOf(lease.by) === "alive";
  }

  fateOf({ name, epoch }: Ref): "alive" | "detached" | "dead" {
    if (this.detached.has(`${name}@${epoch}`)) return "detached";
    const session = this.sessions.get(name);
    return session?.epoch === epoch && !session.isClosed && session.expiresAtMs > this.nowMs ? "alive" : "dead";
  }

  fence(by: Ref | undefined): Refused {
    if (by === undefined || this.fateOf(by) === "alive") return undefined;
    return this.sessions.has(by.name) ? "session-fenced" : "not-found";
  }

  available(queue: Queue): readonly Message[] {
    return queue.messages.filter((m) => m.state === "available" && m.visibleAtMs <= this.nowMs);
  }

  declare(name: string, settings: Queue["settings"]): void {
    const counts = { enqueued: 0, settled: 0, dead: 0, unmet: 0, refused: 0 };
    this.queues.set(name, { name, settings, firsts: new Map(), messages: [], ...counts });
  }

  deleteQueue(queue: Queue): void {
    this.queues.delete(queue.name);
    this.deleted.push(Object.assign(queue, { deletedAtMs: this.nowMs }));
    this.settle();
  }

  /** What stands on the queue or will, once prepared branches are committed. */
  using(queue: Queue): readonly Message[] {
    const prepared = [...this.branches.values()].filter((branch) => branch.state === "prepared");
    const reserved = prepared.flatMap(({ adds }) => adds.filter((add) => add.queue === queue));
    return [...queue.messages, ...reserved.map(({ message }) => message)];
  }

  /** The messages that a ring queue drops so that these fit; undefined when they cannot fit. */
  #roomFor(queue: Queue, entering: readonly Message[]): readonly Message[] | undefined {
    const { maxMessages, maxBytes, overflow } = queue.settings;
    const all = [...this.using(queue), ...entering];
    const dropped: Message[] = [];
    const fits = () =>
      all.length - dropped.length <= (maxMessages ?? Number.POSITIVE_INFINITY) &&
      bytes(all) - bytes(dropped) <= (maxBytes ?? Number.POSITIVE_INFINITY);
    for (const m of overflow === "ring" ? this.available(queue) : []) if (!fits()) dropped.push(m);
    return fits() ? dropped : undefined;
  }

  /** The message of now that has this deduplication id, on the queue or earlier among these. */
  firstOf(queue: Queue, { deduplicationId: id }: Message, earlier: readonly Message[] = []): Message | undefined {
    if (id === undefined) return undefined;
    const first = queue.firsts.get(id);
    return first !== undefined && first.untilMs > this.nowMs
      ? first.message
      : earlier.find((m) => m.deduplicationId === id);
  }

  /** Puts messages on the queue, or on the branch; what each has become: itself, or the first of its deduplication id. */
  enqueue(queue: Queue, messages: readonly Message[], branch: Branch | undefined): readonly Message[] | undefined {
    const became = messages.map((m, i) => this.firstOf(queue, m, messages.slice(0, i)) ?? m);
    const wanted = messages.filter((m, i) => became[i] === m);
    if (branch !== undefined) branch.adds.push(...wanted.map((message) => ({ queue, message })));
    else {
      const dropped = this.#roomFor(queue, wanted);
      if (dropped === undefined) return undefined;
      this.leave(queue, dropped);
      for (const m of wanted) this.#put(queue, m);
    }
    return became;
  }

  deliver(queue: Queue, message: Message, leaseMs: number | undefined, by: Ref | undefined): Delivery {
    message.deliveries += 1;
    if (leaseMs === undefined) this.leave(queue, [message]);
    else Object.assign(message, { state: "leased", lease: { expiresAtMs: this.nowMs + leaseMs, by } });
    return { message, queue, lease: message.lease };
  }

  /** The right outcomes of a delivery. Two, where the message has ended and it is open whether it has been moved on. */
  judge({ message: m, queue, lease }: Delivery, branch: Branch | undefined): readonly string[] {
    if (m.state === "gone") return ["not-found", "lease-lost"];
    if (m.state === "held") {
      return [
        ...(m.holder === branch ? ["ok"] : ["locked"]),
        ...(queue.deletedAtMs === undefined ? [] : ["not-found"]),
      ];
    }
    return m.state === "leased" && m.lease === lease ? ["ok"] : ["lease-lost"];
  }

  accept({ message, queue }: Delivery, branch: Branch | undefined): void {
    if (branch === undefined) this.leave(queue, [message]);
    else if (message.state === "leased") {
      Object.assign(message, { state: "held", holder: branch });
      branch.removes.push({ queue, message });
    }
  }

  /** To the dead-letter queue, in the order of their own. */
  reject(deliveries: readonly Delivery[]): void {
    for (const [queue, of] of Map.groupBy(deliveries, (delivery) => delivery.queue)) {
      this.leave(
        queue,
        queue.messages.filter((m) => of.some(({ message }) => message === m)),
        "rejected",
      );
    }
  }

  release(deliveries: readonly Delivery[], delayMs: number): void {
    for (const { message } of deliveries) this.#free(message, delayMs === 0 ? 0 : this.nowMs + delayMs);
    this.settle();
  }

  /** A later deadline; one that is later already stays. */
  extend({ lease }: Delivery, leaseMs: number): void {
    if (lease !== undefined) lease.expiresAtMs = Math.max(lease.expiresAtMs, this.nowMs + leaseMs);
  }

  /** The next epoch of the name; the one before is over. */
  attach(name: string, timeoutSeconds: number): number {
    const epoch = (this.sessions.get(name)?.epoch ?? 0) + 1;
    const expiresAtMs = this.nowMs + timeoutSeconds * 1000;
    this.sessions.set(name, { name, epoch, timeoutSeconds, expiresAtMs, isClosed: false });
    this.settle();
    return epoch;
  }

  /** Until when it lives now. */
  keepAlive(ref: Ref, timeoutSeconds: number | undefined): number {
    const session = this.sessions.get(ref.name);
    if (session === undefined) return 0;
    session.timeoutSeconds = timeoutSeconds ?? session.timeoutSeconds;
    session.expiresAtMs = this.nowMs + session.timeoutSeconds * 1000;
    return session.expiresAtMs;
  }

  detach(ref: Ref): void {
    if (this.fateOf(ref) === "alive") this.detached.add(`${ref.name}@${ref.epoch}`);
    Object.assign(this.sessions.get(ref.name) ?? {}, { isClosed: true });
    this.settle();
  }

  start(xid: string, by: Ref, how: { join: boolean; resume: boolean; timeoutSeconds: number }): Verdict {
    const b = this.branches.get(xid);
    if (how.join && how.resume) return "command-invalid";
    if (!how.join && !how.resume) {
      if (b !== undefined) return "not-allowed";
      const timeoutSeconds = how.timeoutSeconds || 60;
      const deadlineMs = this.nowMs + timeoutSeconds * 1000;
      const lists = { workers: [by], adds: [], removes: [], associations: [{ ...by, isSuspended: false }] };
      this.branches.set(xid, { state: "open", startedBy: by.name, timeoutSeconds, deadlineMs, ...lists });
      return "XA_OK";
    }
    if (b === undefined) return "not-found";
    const mine = b.associations.find((a) => isSame(a, by));
    if (how.resume && mine?.isSuspended !== true) return mine && b.state === "open" ? "XA_OK" : "command-invalid";
    if (b.state === "timed-out") return "XA_RBTIMEOUT";
    if (how.join && mine !== undefined) return "illegal-state";
    if (b.state === "rollback-only") return "XA_RBROLLBACK";
    if (b.state !== "open") return "illegal-state";
    if (mine !== undefined) mine.isSuspended = false;
    else b.associations.push({ ...by, isSuspended: false });
    if (!b.workers.some((w) => isSame(w, by))) b.workers.push(by);
    return "XA_OK";
  }

  end(xid: string, by: Ref, how: { suspend: boolean; fail: boolean }): Verdict {
    if (how.suspend && how.fail) return "command-invalid";
    const b = this.branches.get(xid);
    const mine = b?.associations.find((a) => isSame(a, by));
    if (b === undefined || mine === undefined) return "illegal-state";
    if (how.suspend && b.state === "open") {
      if (mine.isSuspended) return "illegal-state";
      mine.isSuspended = true;
      return "XA_OK";
    }
    b.associations = b.associations.filter((a) => a !== mine);
    if (b.state === "timed-out") return "XA_RBTIMEOUT";
    if (b.state === "open" && how.fail) this.#doom(b, "rollback-only");
    this.settle();
    return b.state === "open" ? "XA_OK" : "XA_RBROLLBACK";
  }

  /** Prepare, commit in one or two phases, or rollback. */
  complete(xid: string, verb: "prepare" | "commit" | "onePhase" | "rollback"): Verdict {
    const b = this.branches.get(xid);
    const outcome = verb === "rollback" ? "rolled-back" : "committed";
    if (b === undefined) {
      const past = this.outcomes.get(xid);
      if (verb === "prepare" || !past?.isRepeatable || past.untilMs <= this.nowMs) return "not-found";
      return past.state === outcome ? "XA_OK" : "illegal-state";
    }
    if (b.state === "timed-out") return this.#over(xid, "rolled-back", false, "XA_RBTIMEOUT");
    if (b.state.startsWith("heur")) {
      if (verb === "prepare") return "illegal-state";
      return b.state === "heuristically-committed" ? "XA_HEURCOM" : "XA_HEURRB";
    }
    if (b.associations.length > 0) return "illegal-state";
    if (b.state === "rollback-only") {
      if (verb === "prepare") return "XA_RBROLLBACK";
      return this.#over(xid, "rolled-back", verb === "rollback", verb === "rollback" ? "XA_OK" : "XA_RBROLLBACK");
    }
    if (verb === (b.state === "prepared" ? "onePhase" : "commit")) return "illegal-state";
    if (verb === "prepare" && b.state === "prepared") return "illegal-state";
    if ((verb === "prepare" || verb === "onePhase") && !this.#reserve(b)) {
      this.#doom(b, "rollback-only");
      this.settle();
      return verb === "prepare" ? "XA_RBROLLBACK" : this.#over(xid, "rolled-back", false, "XA_RBROLLBACK");
    }
    if (verb === "prepare") b.state = "prepared";
    else {
      this.#apply(b, outcome);
      this.#over(xid, outcome, true, "XA_OK");
    }
    return "XA_OK";
  }

  #over(xid: string, state: string, isRepeatable: boolean, answer: Verdict): Verdict {
    this.branches.delete(xid);
    this.outcomes.set(xid, { state, isRepeatable, untilMs: this.nowMs + DAY_MS });
    return answer;
  }

  /** Every limited queue has room for what the branch adds, or none is touched. */
  #reserve(b: Branch): boolean {
    const live = b.adds.filter(({ queue }) => queue.deletedAtMs === undefined);
    const rooms = [...Map.groupBy(live, ({ queue }) => queue)].map(([queue, adds]) => ({
      queue,
      dropped: this.#roomFor(
        queue,
        adds.map(({ message }) => message),
      ),
    }));
    if (rooms.some(({ dropped }) => dropped === undefined)) return false;
    for (const { queue, dropped = [] } of rooms) this.leave(queue, dropped);
    return true;
  }

  #apply(b: Branch, outcome: string): void {
    const adds = b.adds.splice(0);
    const removes = b.removes.splice(0);
    if (outcome === "committed") {
      for (const { queue, message } of removes) this.leave(queue, [message]);
      for (const [queue, of] of Map.groupBy(adds, (add) => add.queue)) {
        const messages = of.map(({ message }) => message);
        if (queue.deletedAtMs !== undefined) this.leave(queue, messages, "queue-deleted");
        else for (const m of messages) if (this.firstOf(queue, m) === undefined) this.#put(queue, m);
      }
    }
    for (const { message } of outcome === "committed" ? [] : removes) this.#free(message);
    this.settle();
  }

  setTimeout(b: Branch, timeoutSeconds: number): void {
    if (b.state === "timed-out") return;
    b.timeoutSeconds = timeoutSeconds;
    if (b.state === "open") b.deadlineMs = this.nowMs + timeoutSeconds * 1000;
  }

  heuristic(xid: string, outcome: "committed" | "rolled-back"): Verdict {
    const b = this.branches.get(xid);
    if (b?.state !== "prepared") return b === undefined ? "not-found" : "illegal-state";
    b.state = `heuristically-${outcome}`;
    this.#apply(b, outcome);
    return "XA_OK";
  }

  forget(xid: string): Verdict {
    const b = this.branches.get(xid);
    if (!b?.state.startsWith("heur")) return b === undefined ? "not-found" : "illegal-state";
    return this.#over(xid, b.state.replace("heuristically-", ""), false, "XA_OK");
  }

  /** Recovery: a time-out that nobody asked about for 24 h is only remembered. */
  recover(xids: Iterable<string> = this.branches.keys()): void {
    for (const xid of [...xids]) {
      const b = this.branches.get(xid);
      const isOld = b?.state === "timed-out" && b.deadlineMs + DAY_MS <= this.nowMs && b.associations.length === 0;
      if (isOld) this.#over(xid, "rolled-back", false, "XA_OK");
    }
  }
}
