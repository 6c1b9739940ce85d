/** One run of the model: the service under test, the reference beside it, and the history of what was asked and answered. */
import { expect } from "vitest";
import { partitionFor } from "../../shared/domain/queue.ts";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import type { InProcess } from "../support/in-process.ts";
import { browseAll } from "../support/moves.ts";
import type { BrowsedMessage } from "../support/shapes.ts";
import { Line } from "./line.ts";
import { Broker } from "./reference.ts";
import { defaults } from "./settings.ts";
import type { Branch, Delivery, Message, Queue, Ref, Refused } from "./values.ts";

/** The time by every clock: it stands still until a run lets it pass. */
export interface Clock {
  nowMs: number;
}

/** Who sends a command: a session at its epoch or at the one before, the session that works in the branch, or nobody. */
export type Who = { readonly session: number; readonly isOld: boolean } | "worker" | "nobody";

export interface Given {
  readonly deliveryId: string;
  readonly delivery: Delivery;
}

/** A request that bore an idempotency key, and what it was answered. */
export interface Remembered {
  readonly by: string | undefined;
  readonly xid: string | undefined;
  readonly path: string;
  readonly body: object;
  readonly answer: unknown;
  readonly untilMs: number;
}

/** Queues of a run by their last names; what is dead on `a` goes to `a.dead`. */
const QUEUES = ["a", "b", "c", "a.dead", "b.dead"] as const;
/** All runs share it: each has routing keys of its own there. */
const STANDARD = "amq.direct";

export class World {
  readonly broker = new Broker();
  readonly line = new Line();
  readonly history: string[] = [];
  readonly given: Given[] = [];
  readonly remembered = new Map<string, Remembered>();
  readonly queues: readonly string[];
  readonly exchanges: readonly string[];
  readonly sessions: readonly string[];
  readonly xids: readonly string[];
  readonly prefix: string;
  readonly #processes: readonly InProcess[];
  readonly #clock: Clock;
  #bodies = 0;

  constructor(processes: readonly InProcess[], clock: Clock, run: number) {
    this.#processes = processes;
    this.#clock = clock;
    this.broker.nowMs = clock.nowMs;
    this.prefix = `r${run}.`;
    this.queues = QUEUES.map((name) => this.prefix + name);
    this.exchanges = [...["x", "y", "z"].map((name) => this.prefix + name), STANDARD];
    this.broker.exchanges.set(STANDARD, { type: "direct", alternate: null, bindings: [], unroutable: 0 });
    // By its name a session has a partition: even ones shall have 0, odd ones 1.
    this.sessions = [0, 1, 2].map((i) => nameIn(i % 2, `${this.prefix}s${i}`));
    this.xids = [0, 1, 2].map((i) => `1.${Buffer.from(`${run}`).toString("hex")}.0${i}`);
  }

  /** Time passes for the service and for the reference, in whole seconds. */
  advance(seconds: number): void {
    this.#clock.nowMs += seconds * 1000;
    this.broker.nowMs = this.#clock.nowMs;
    this.broker.settle();
  }

  /** A client of one of the two processes that share the table. */
  client(at: number, by?: Ref, xid?: string): Client {
    const process = this.#processes[at % this.#processes.length];
    if (process === undefined) throw new Error("there is no process");
    const context = by === undefined ? {} : { session: by.name, epoch: by.epoch };
    return process.client.with({ ...context, ...(xid !== undefined && { xid }) });
  }

  ref(who: Who, xid?: string): Ref | undefined {
    if (who === "nobody") return undefined;
    if (who === "worker") {
      const branch = xid === undefined ? undefined : this.broker.branches.get(xid);
      const worker = branch?.associations.find((a) => !a.isSuspended) ?? branch?.associations[0];
      return worker ? { name: worker.name, epoch: worker.epoch } : this.ref({ session: 0, isOld: false });
    }
    const name = this.sessions[who.session] ?? "";
    const epoch = this.broker.sessions.get(name)?.epoch ?? 1;
    return { name, epoch: who.isOld && epoch > 1 ? epoch - 1 : epoch };
  }

  /** A message that no other of the run resembles. */
  message(by: Ref | undefined, queue: Queue | undefined, more: Partial<Message> & { size?: number }): Message {
    const { size = 0, ...rest } = more;
    const isSplit = queue?.settings.partitions === 2;
    const partition = by === undefined ? -1 : this.sessions.indexOf(by.name) % 2;
    return {
      body: `m${++this.#bodies}`.padEnd(size, "."),
      ttlMs: Number.POSITIVE_INFINITY,
      deduplicationId: undefined,
      partition: isSplit ? partition : 0,
      state: "new",
      deliveries: 0,
      visibleAtMs: 0,
      putAtMs: 0,
      expiresAtMs: Number.POSITIVE_INFINITY,
      dropAtMs: Number.POSITIVE_INFINITY,
      ...rest,
    };
  }

  isStandard(exchange: string): boolean {
    return exchange === STANDARD;
  }

  /** A routing or binding key as this exchange is given it. */
  keyOn(exchange: string, key: string): string {
    return this.isStandard(exchange) ? `${this.prefix}${key}` : key;
  }

  queue(name: string): Queue | undefined {
    return this.broker.queues.get(name);
  }

  /** The branch, if this session may work in it now. */
  workplace(xid: string | undefined, by: Ref | undefined): Branch | undefined {
    const branch = xid === undefined ? undefined : this.broker.branches.get(xid);
    const mine = branch?.associations.find((a) => a.name === by?.name && a.epoch === by.epoch);
    return branch?.state === "open" && mine !== undefined && !mine.isSuspended ? branch : undefined;
  }

  /** Writes down what was asked and what came of it, without the run's own prefix. */
  note(line: string, answer?: Answer<unknown>): void {
    const told =
      answer === undefined ? "" : ` → ${answer.problem?.code ?? JSON.stringify(answer.body) ?? answer.status}`;
    const short = told.length > 300 ? `${told.slice(0, 300)}…` : told;
    this.history.push(`${line}${short}`.replaceAll(this.prefix, ""));
  }

  /** Fails unless the answer is this refusal, or none; whether it was one. Without an answer it is what it must be. */
  isRefused(answer: Answer<unknown> | undefined, expected: Refused): boolean {
    if (answer !== undefined) expect(answer.problem?.code, answer.problem?.detail).toBe(expected);
    return expected !== undefined;
  }

  async runWorker(): Promise<void> {
    await this.#processes[0]?.runWorker();
  }

  async schedule(): Promise<void> {
    await this.#processes[0]?.runSchedule();
    this.forgetTimeouts();
  }

  /** What recovery makes of branches whose time-out nobody asked about for a day. */
  forgetTimeouts(xids: Iterable<string> = this.broker.branches.keys()): void {
    for (const xid of [...xids]) {
      const b = this.broker.branches.get(xid);
      const isOld = b?.state === "timed-out" && b.deadlineMs + 86_400_000 <= this.broker.nowMs;
      if (isOld && b.associations.length === 0) this.broker.complete(xid, "onePhase");
    }
  }

  /**
   * Before anything looks at a dead-letter queue to which messages are due: the schedule moves what has ended, and then they
   * must stand there, those of one queue and one cause in their order, as many as there is room for.
   */
  async lookForLetters(target: string): Promise<void> {
    const due = this.broker.due.filter((one) => one.target === target);
    if (due.length === 0) return;
    await this.schedule();
    const queue = this.queue(target);
    const browsed = queue === undefined ? [] : await browseAll(this.client(0), target);
    const known = new Set(queue?.messages.map(({ id }) => id));
    const letters = browsed.filter(({ messageId }) => !known.has(messageId));
    this.history.push(
      `  letters on ${target}: ${letters.map(({ body }) => shortBody(body)).join(" ")}`.replaceAll(this.prefix, ""),
    );
    const expected = due.flatMap(({ messages }) => messages);
    const most = queue?.settings.maxMessages ?? Number.POSITIVE_INFINITY;
    const free = queue === undefined ? 0 : most - this.broker.using(queue).length;
    expect(letters.length, `letters on ${target} of ${expected.length} due, ${free} fit`).toBe(
      Math.min(expected.length, free),
    );
    for (const { messages } of due) {
      // Between partitions there is no order.
      for (const some of Map.groupBy(messages, ({ partition }) => partition).values()) {
        this.#expectInOrder(some, letters);
      }
    }
    this.broker.arrive(
      target,
      letters.map((letter) => this.#arrived(letter, expected, due)),
    );
  }

  #expectInOrder(messages: readonly Message[], letters: readonly BrowsedMessage[]): void {
    const places = messages.map(({ id }) => letters.findIndex(({ messageId }) => messageId === id));
    const arrived = places.filter((place) => place >= 0);
    expect(arrived, "dead letters of one queue keep their order").toEqual(arrived.toSorted((a, b) => a - b));
    expect(places.slice(0, arrived.length), "a full queue takes the oldest").toEqual(arrived);
  }

  #arrived(letter: BrowsedMessage, expected: readonly Message[], due: Broker["due"]): Message {
    const m = expected.find(({ id }) => id === letter.messageId);
    const group = due.find(({ messages }) => m !== undefined && messages.includes(m));
    const { deadLetter } = letter as { deadLetter?: { queue: string; reason: string; deliveryCount: number } };
    expect({ body: letter.body, queue: deadLetter?.queue }, "a letter").toEqual({
      body: m?.body,
      queue: group?.from.name,
    });
    const isLate = m !== undefined && m.expiresAtMs <= this.broker.nowMs;
    expect([group?.reason, ...(isLate ? ["expired"] : [])], "reason").toContain(deadLetter?.reason);
    expect(deadLetter?.deliveryCount).toBe(m?.deliveries);
    return this.message(undefined, undefined, {
      body: letter.body,
      origin: deadLetter?.queue ?? "",
      id: letter.messageId,
      sequence: BigInt(letter.sequence),
    });
  }

  /** Takes what an answer tells of a message, and holds it against what was known. */
  learn(m: Message, told: { messageId: string; sequence?: string }, queue: Queue): void {
    if (m.id === undefined) m.id = told.messageId;
    expect(told.messageId).toBe(m.id);
    if (told.sequence === undefined) return;
    const sequence = BigInt(told.sequence);
    const partition = Number(sequence % BigInt(queue.settings.partitions ?? 1));
    if (m.partition === -1) m.partition = partition;
    expect(partition, `partition of ${m.body}`).toBe(m.partition);
    if (m.sequence === undefined) m.sequence = sequence;
    expect(sequence, `sequence of ${m.body}`).toBe(m.sequence);
    const known = queue.messages
      .filter((other) => other.partition === partition)
      .flatMap((other) => other.sequence ?? []);
    expect(known, `sequences on ${queue.name} rise`).toEqual(known.toSorted((a, b) => (a < b ? -1 : 1)));
  }
}

const nameIn = (partition: number, name: string): string =>
  partitionFor({ ...defaults, partitions: 2 }, name, 0) === partition
    ? name
    : nameIn(partition, `${name}'`.replace("'", "x"));

export const shortBody = (body: string): string => body.replace(/\.+$/, "…");

export const tellBy = (by: Ref | undefined, xid: string | undefined): string =>
  `${by === undefined ? "" : ` by ${by.name}@${by.epoch}`}${xid === undefined ? "" : ` in ${xid.slice(-1)}`}`;
