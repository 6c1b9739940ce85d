/** The contract as a broker in memory, eager: what time does is done at once. What nobody can foresee, answers tell. */
import { matches } from "./routing.ts";
import { columns, ILLEGAL, OK, ROLLED_BACK, TIMED_OUT, table } from "./state-table.ts";
import type * as v from "./values.ts";
import type { Branch, Delivery, Message, Queue, Ref, Refused, Verb, Verdict } from "./values.ts";

const DAY_MS = 86_400_000;
const isSame = (a: Ref, b: Ref): boolean => a.name === b.name && a.epoch === b.epoch;
const bytes = (messages: readonly Message[]): number => messages.reduce((sum, m) => sum + m.body.length, 0);
const orEver = (limit: number | null): number => limit ?? Number.POSITIVE_INFINITY;
const isRepeatable: readonly Verb[] = ["commit", "onePhase", "rollback"];
const byQueue = (adds: Branch["adds"]) =>
  new Map([...Map.groupBy(adds, ({ queue }) => queue)].map(([queue, of]) => [queue, of.map(({ message }) => message)]));
export class Broker {
  readonly queues = new Map<string, Queue>();
  readonly deleted: Queue[] = [];
  readonly sessions = new Map<string, v.Session>();
  readonly detached = new Set<string>();
  readonly branches = new Map<string, Branch>();
  readonly outcomes = new Map<string, v.Outcome>();
  readonly exchanges = new Map<string, v.Exchange>();
  due: v.Due[] = [];
  nowMs = 0;

  /** What time and the ends of sessions have done by now: to branches, then to leases, then to messages. */
  settle(): void {
    for (const branch of this.branches.values()) this.#meet(branch);
    for (const queue of [...this.queues.values(), ...this.deleted]) {
      for (const m of queue.messages) {
        const { by, expiresAtMs = 0 } = m.lease ?? {};
        if (m.state === "leased" && (expiresAtMs <= this.nowMs || this.fence(by) !== undefined)) this.free(m);
      }
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
    if (b.state === "prepared" || b.state.startsWith("heur")) return;
    const left = b.associations.filter((a) => this.fateOf(a) === "alive");
    const isLost = left.length < b.associations.length || b.workers.some((w) => this.fateOf(w) === "dead");
    b.associations = left;
    if (b.deadlineMs <= this.nowMs) this.#doom(b, "timed-out");
    else if (b.state === "open" && isLost) this.#doom(b, "rollback-only");
  }

  /** The branch's work never was: what it removed is back at its place. */
  #doom(b: Branch, state: Branch["state"]): void {
    b.state = state;
    for (const { message } of b.removes.splice(0)) this.free(message);
    b.adds.length = 0;
  }

  free(m: Message, delayMs = 0): void {
    Object.assign(m, { state: "available", lease: undefined, holder: undefined, visibleAtMs: this.nowMs + delayMs });
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
    if (m.deduplicationId !== undefined)
      queue.firsts.set(m.deduplicationId, { message: m, untilMs: this.nowMs + DAY_MS });
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

  /** What stands on the queue or will, once prepared branches are committed. */
  using(queue: Queue): readonly Message[] {
    const reserved = [...this.branches.values()].flatMap(({ state, adds }) => (state === "prepared" ? adds : []));
    return [...queue.messages, ...reserved.flatMap((add) => (add.queue === queue ? [add.message] : []))];
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

  /** The first message of this one's deduplication id: of the last day, or else among these. */
  firstOf(queue: Queue, { deduplicationId: id }: Message, among: readonly Message[] = []): Message | undefined {
    const { message, untilMs = 0 } = queue.firsts.get(id ?? "") ?? {};
    return untilMs > this.nowMs ? message : among.find((m) => id !== undefined && m.deduplicationId === id);
  }

  /** Every queue has room for what enters it, or none is touched. */
  #makeRoom(entering: Iterable<readonly [Queue, readonly Message[]]>): boolean {
    const rooms = [...entering].map(([queue, messages]) => [queue, this.#roomFor(queue, messages)] as const);
    if (rooms.some(([, dropped]) => dropped === undefined)) return false;
    for (const [queue, dropped = []] of rooms) this.leave(queue, dropped);
    return true;
  }

  /** Puts messages on queues, or on the branch; what each has become: itself, or the first of its deduplication id. */
  enqueue(targets: ReadonlyMap<Queue, readonly Message[]>, branch?: Branch): ReadonlyMap<Message, Message> | undefined {
    const became = new Map<Message, Message>();
    const wanted = [...targets].map(([queue, messages]) => {
      for (const m of messages) became.set(m, this.firstOf(queue, m, messages) ?? m);
      return [queue, messages.filter((m) => became.get(m) === m)] as const;
    });
    if (branch === undefined && !this.#makeRoom(wanted)) return undefined;
    for (const [queue, messages] of wanted) {
      if (branch === undefined) for (const m of messages) this.#put(queue, m);
      else branch.adds.push(...messages.map((message) => ({ queue, message })));
    }
    return became;
  }

  /** The queues of a message, each once: as this exchange says or, where that names none, its alternates. */
  route(name: string | null, key: string, headers: v.Headers): readonly Queue[] {
    const { type = "direct", alternate = null, bindings = [] } = this.exchanges.get(name ?? "") ?? {};
    const found = bindings.filter((b) => b.queue.deletedAtMs === undefined && matches(type, b, key, headers));
    if (found.length === 0 && alternate !== null) return this.route(alternate, key, headers);
    return [...new Set(found.map(({ queue }) => queue))];
  }

  /** Letters go back, or all to one queue, the oldest first; none is dropped for them, none passes one that stays. */
  redrive(from: Queue, to: Queue | undefined, copyOf: (m: Message, target: Queue) => Message): readonly v.Placed[] {
    const [full, moved] = [new Set<Queue>(), [] as v.Placed[]];
    for (const m of this.available(from)) {
      const queue = to ?? this.queues.get(m.origin ?? "");
      if (queue === undefined || full.has(queue)) continue;
      const message = copyOf(m, queue);
      if (this.#roomFor(queue, [message])?.length !== 0) full.add(queue);
      else {
        this.leave(from, [m]);
        this.#put(queue, message);
        moved.push({ queue, message });
      }
    }
    return moved;
  }

  /** The right outcomes of a delivery: two where time has ended the message, and nobody may have met it yet. */
  judge({ message: m, queue, lease }: Delivery, branch: Branch | undefined): readonly string[] {
    if (m.state === "gone") return ["not-found", ...(m.isEnded ? ["lease-lost"] : [])];
    const isGone = queue.deletedAtMs !== undefined;
    if (m.state === "held") return [m.holder === branch ? "ok" : "locked", ...(isGone ? ["not-found"] : [])];
    return m.state === "leased" && m.lease === lease ? ["ok"] : ["lease-lost"];
  }

  start(xid: string, by: Ref, how: { join: boolean; resume: boolean; timeoutSeconds: number }): Verdict {
    const b = this.branches.get(xid);
    const mine = b?.associations.find((a) => isSame(a, by));
    if (how.join && how.resume) return "command-invalid";
    if (b !== undefined && !how.join && !how.resume) return "not-allowed";
    if (b === undefined) {
      if (how.join || how.resume) return "not-found";
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
    if (b === undefined) {
      const past = isRepeatable.includes(verb) ? this.outcomes.get(xid) : undefined;
      if (!past?.isRepeatable || past.untilMs <= this.nowMs) return "not-found";
      return past.state === outcome ? OK : ILLEGAL;
    }
    if (b.state.startsWith("heur")) {
      if (verb === "forget") return this.#over(xid, b.state.replace("heuristically-", ""), false, OK);
      if (!isRepeatable.includes(verb)) return ILLEGAL;
      return b.state === "heuristically-committed" ? "XA_HEURCOM" : "XA_HEURRB";
    }
    const isAssociated = b.state !== "timed-out" && b.associations.length > 0;
    const verdict = table[verb][columns.indexOf(isAssociated ? "associated" : b.state)] ?? ILLEGAL;
    if (verdict === TIMED_OUT || (verdict === ROLLED_BACK && verb !== "prepare")) {
      return this.#over(xid, "rolled-back", false, verdict);
    }
    if (verdict !== OK) return verdict;
    if (
      (verb === "prepare" || verb === "onePhase") &&
      !this.#makeRoom(byQueue(b.adds.filter(({ queue }) => queue.deletedAtMs === undefined)))
    ) {
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

  #over(xid: string, state: string, isRepeatable: boolean, answer: Verdict): Verdict {
    this.branches.delete(xid);
    this.outcomes.set(xid, { state, isRepeatable, untilMs: this.nowMs + DAY_MS });
    return answer;
  }

  #apply(b: Branch, outcome: string): void {
    if (outcome === "rolled-back") this.#doom(b, b.state);
    for (const { queue, message } of b.removes.splice(0)) this.leave(queue, [message]);
    for (const [queue, messages] of byQueue(b.adds.splice(0))) {
      if (queue.deletedAtMs !== undefined) this.leave(queue, messages, "queue-deleted");
      else for (const m of messages) this.firstOf(queue, m) ? queue.repeats.push(m) : this.#put(queue, m);
    }
    this.settle();
  }
}
