/** One total loss: a load on a primary, the primary and its feeds cut off at moments of chance, and what comes after. */
import { setTimeout as sleep } from "node:timers/promises";
import { compareSerials } from "../../shared/domain/counter.ts";
import { identify, type StoreStatus } from "../../shared/domain/store-status.ts";
import type { Anomaly } from "../history/anomaly.ts";
import { declareAll } from "../history/broker.ts";
import { type Caller, consume, manage, managers, produce, resolve, takeOver, watch } from "../history/callers.ts";
import { attach, declare, drain } from "../history/calls.ts";
import { check } from "../history/checker.ts";
import { KILL_OF_EVERYTHING } from "../history/ends.ts";
import { Chance } from "../history/random.ts";
import { comeToRest, type Resting } from "../history/run-soak.ts";
import { send, senders } from "../history/senders.ts";
import type { ClusterUnderTest, Replica, Started } from "../support/cluster.ts";
import type { InProcess } from "../support/in-process.ts";
import { declareAndDelete, type Fate, heavy, keep, PatientRecorder } from "./keepers.ts";
import { WildFeed } from "./wild-feed.ts";

/** After so long a replica is given up in one scene of three. */
const SHORT_SECONDS = 5;

export interface Loss {
  readonly anomalies: readonly Anomaly[];
  /** What else was seen that must not be. */
  readonly wrongs: readonly string[];
  /** How it went, for people. */
  readonly line: string;
}

export const totalLoss = async (underTest: ClusterUnderTest, seed: number): Promise<Loss> => {
  const scene = await Scene.open(underTest, seed);
  try {
    return await scene.play();
  } finally {
    await scene.close();
  }
};

class Scene implements Resting {
  readonly #underTest: ClusterUnderTest;
  readonly #cluster: Started;
  readonly #processes: readonly [InProcess, InProcess];
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #to: PatientRecorder;
  readonly #feeds: readonly WildFeed[];
  readonly #wrongs: string[] = [];
  readonly #fates = new Map<string, Fate>();
  readonly #failures: unknown[] = [];
  #isDown = false;
  #isShort = false;
  #isOver = false;
  #areEnginesOff = false;
  #engines: Promise<unknown> | undefined;
  #startedAtMs = 0;

  private constructor(underTest: ClusterUnderTest, cluster: Started, processes: [InProcess, InProcess], seed: number) {
    this.#underTest = underTest;
    this.#cluster = cluster;
    this.#processes = processes;
    this.#seed = seed;
    this.#chance = new Chance(seed);
    const which = new Chance(seed + 1);
    this.#to = new PatientRecorder(async (path, request) => {
      if (this.#isDown) throw new Error("nobody listens");
      return which.of(processes).fetch(path, request);
    });
    this.#feeds = cluster.replicas.map((replica, i) => new WildFeed(replica, new Chance(seed * 10 + i)));
  }

  static async open(underTest: ClusterUnderTest, seed: number): Promise<Scene> {
    const cluster = await underTest.cluster(2);
    const one = await underTest.service.process(`one of ${seed}`);
    const other = await underTest.service.process(`other of ${seed}`);
    return new Scene(underTest, cluster, [one, other], seed);
  }

  async play(): Promise<Loss> {
    await this.#begin();
    const callers = this.#call();
    await sleep(this.#chance.whole(1_500, 3_000));
    const isCutOff = await this.#lose();
    if (process.env.LOSS_LOG !== undefined) process.stdout.write(`${await this.#statuses()}, cut off: ${isCutOff}\n`);
    if (await this.#isAlone())
      return this.#end("both replicas had been given up: what the primary had is lost with it");
    const { replica, feed } = await this.#choose();
    const before = await this.#cluster.status(replica.store);
    await this.#cluster.promote(replica);
    await this.#judgeCounter(before, replica);
    if (isCutOff) {
      this.#isDown = true;
      if (await this.#isSplit(replica)) return this.#end("the primary gave its replicas up while one was promoted");
    }
    await this.#runOn(replica);
    // A feed that lives on brings what it has left: to a promoted store none of it comes.
    await feed.goOn();
    await this.#judgeBranches();
    await sleep(this.#chance.whole(300, 1_200));
    this.#isOver = true;
    await callers;
    const line = this.#line(replica);
    await this.#rest();
    this.#judgeEpochs();
    return this.#end(line, check(this.#to.entries));
  }

  #end(line: string, anomalies: readonly Anomaly[] = []): Loss {
    if (this.#failures.length > 0) throw this.#failures[0];
    return { anomalies, wrongs: this.#wrongs, line };
  }

  /** How the stores stand, for whoever looks for a cause. */
  async #statuses(): Promise<string> {
    const { primary, replicas, status } = this.#cluster;
    const all = await Promise.all([primary, ...replicas.map(({ store }) => store)].map(status));
    return all
      .map(({ configChange, changeCounter, members }) => {
        const states = members.map(({ table, state }) => `${table.split("-").at(-1)} ${state}`).join(" ");
        return `change ${configChange} counter ${changeCounter} (${states})`;
      })
      .join("; ");
  }

  /** Whether the primary went on without both; then it must be the one to start from. */
  async #isAlone(): Promise<boolean> {
    const { primary, replicas, status } = this.#cluster;
    const statuses = await Promise.all([primary, ...replicas.map(({ store }) => store)].map(status));
    if (statuses[0]?.members.some(({ role, state }) => role === "replica" && state === "in-sync")) return false;
    const identified = identify(statuses.map((each, i) => ({ name: String(i), status: each })));
    if (identified.outcome !== "best" || identified.best !== "0") {
      this.#wrongs.push(`the primary was alone, and is not the one to start from: ${JSON.stringify(identified)}`);
    }
    return true;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#to.endPatience();
    this.#areEnginesOff = true;
    await Promise.all(this.#feeds.map((feed) => feed.cut()));
    await this.#engines;
    for (const process of this.#processes) await process.restart(this.#cluster.table);
  }

  async #begin(): Promise<void> {
    for (const feed of this.#feeds) feed.start();
    // Some have more records than none when they join.
    const isDeclaredFirst = this.#chance.isOneIn(2);
    if (isDeclaredFirst) await this.#declare();
    this.#isShort = this.#chance.isOneIn(3);
    const timeoutSeconds = this.#isShort ? SHORT_SECONDS : 20;
    for (const replica of this.#cluster.replicas) await this.#cluster.join(replica, timeoutSeconds);
    if (!isDeclaredFirst) await this.#declare();
    this.#startedAtMs = performance.now();
    this.#engines = this.#runEngines();
  }

  async #declare(): Promise<void> {
    await declareAll(this.#to);
    await declare(this.#to, "the beginning", heavy, {}, 2);
    for (const name of senders) await attach(this.#to, "the beginning", name, 60);
  }

  /** What AWS does beside the calls: workers and the schedule. */
  async #runEngines(): Promise<void> {
    const [one, other] = this.#processes;
    const until = async (everyMs: number, run: () => Promise<void>) => {
      while (!this.#areEnginesOff) {
        // Between two lives of the process nothing runs.
        if (!this.#isDown) await run().catch((error: unknown) => this.#failures.push(error));
        await sleep(everyMs);
      }
    };
    await Promise.all([until(60, () => other.runWorker()), until(1_500, () => one.runSchedule())]);
  }

  #call(): Promise<unknown> {
    const caller = (who: string, i: number): Caller => ({
      who,
      to: this.#to,
      chance: new Chance(this.#seed * 1_000 + i),
      isOver: () => this.#isOver,
    });
    return Promise.all([
      produce(caller("producer", 1)),
      consume(caller("consumer", 10)),
      consume(caller("eater", 11)),
      ...managers.map((name, i) => manage(caller(name, 20 + i), name)),
      ...senders.map((name, i) => send(caller(name, 50 + i), name)),
      keep(caller("keeper", 60)),
      keep(caller("miser", 61)),
      declareAndDelete(caller("admin", 70), this.#fates),
      takeOver(caller("thief", 30)),
      resolve(caller("resolver", 31)),
      watch(caller("watcher", 32)),
    ]);
  }

  /** Feeds and primary end one after the other, in any order; says whether the primary lives on, cut off from callers. */
  async #lose(): Promise<boolean> {
    // It would soon give both up, and go on alone.
    const isCutOff = this.#chance.isOneIn(3) && !this.#isShort;
    const ends: (() => unknown)[] = this.#feeds.map((feed) => () => feed.cut());
    ends.splice(this.#chance.whole(0, 2), 0, async () => {
      if (isCutOff) return;
      this.#isDown = true;
      await Promise.all(this.#processes.map((process) => process.restart()));
    });
    for (const [i, end] of ends.entries()) {
      await end();
      const isLong = this.#chance.isOneIn(4);
      if (i < 2)
        await sleep(
          isLong ? this.#chance.whole(SHORT_SECONDS * 1_000, SHORT_SECONDS * 1_000 + 500) : this.#chance.whole(0, 150),
        );
    }
    return isCutOff;
  }

  /** Both went on alone: then nobody may choose between them. */
  async #isSplit(replica: Replica): Promise<boolean> {
    const { primary, status } = this.#cluster;
    const statuses = await Promise.all([primary, replica.store].map(status));
    if (statuses[0]?.members.some(({ role, state }) => role === "replica" && state === "in-sync")) return false;
    if (statuses[0]?.configChange !== statuses[1]?.configChange) return true;
    const { outcome } = identify(statuses.map((each, i) => ({ name: String(i), status: each })));
    if (outcome !== "not-comparable") this.#wrongs.push(`two stores that went on alone are found to be ${outcome}`);
    return true;
  }

  /** The one to start from, as the operator is told; where both are of one configuration, now and then the other one. */
  async #choose(): Promise<{ replica: Replica; feed: WildFeed }> {
    const { replicas, status } = this.#cluster;
    const statuses = await Promise.all(replicas.map(({ store }) => status(store)));
    const identified = identify(statuses.map((each, i) => ({ name: String(i), status: each })));
    if (identified.outcome === "not-comparable") throw new Error(`not comparable: ${identified.because}`);
    const isSame = statuses.every(({ configId }) => configId === statuses[0]?.configId);
    const at = isSame && this.#chance.isOneIn(2) ? this.#chance.whole(0, 1) : Number(identified.best);
    const [replica, feed] = [replicas[at], this.#feeds[at]];
    if (replica === undefined || feed === undefined) throw new Error("there is no such replica");
    return { replica, feed };
  }

  async #judgeCounter(before: StoreStatus, replica: Replica): Promise<void> {
    const after = await this.#cluster.status(replica.store);
    if (compareSerials(after.changeCounter, before.changeCounter) < 0) {
      this.#wrongs.push(`the counter went from ${before.changeCounter} to ${after.changeCounter} by the promotion`);
    }
    if (after.role !== "primary" || after.configChange !== (before.configChange ?? 0n) + 1n) {
      this.#wrongs.push(`after the promotion it is a ${after.role} of change ${after.configChange}`);
    }
  }

  async #runOn({ table }: Replica): Promise<void> {
    this.#to.note(KILL_OF_EVERYTHING);
    for (const process of this.#processes) await process.restart(table);
    this.#isDown = false;
  }

  /** What was told to be prepared, and was never to be decided, is there to be recovered. */
  async #judgeBranches(): Promise<void> {
    const inDoubt = (await this.#processes[0].client.recover()).map(({ xid }) => xid);
    const known = new Set(inDoubt);
    const decided = new Set(
      this.#to.entries.flatMap(({ asked }) =>
        asked.call === "commit" || asked.call === "rollback" ? [asked.xid] : [],
      ),
    );
    for (const { asked, told } of this.#to.entries) {
      if (asked.call !== "prepare" || told === undefined || !("xa" in told) || told.xa !== "XA_OK") continue;
      if (!decided.has(asked.xid) && !known.has(asked.xid)) {
        const answer = await this.#processes[0].client.getBranch(asked.xid);
        const state = answer.problem?.code ?? answer.body.state;
        // Its manager may have come back meanwhile.
        const isDecided = this.#to.entries.some((entry) => "xid" in entry.asked && entry.asked.xid === asked.xid);
        if (!isDecided || state === "not-found") this.#wrongs.push(`${asked.xid} was prepared and is ${state}`);
      }
    }
  }

  async #rest(): Promise<void> {
    await this.#judgeFates();
    await this.#judgeMemory();
    const chance = new Chance(this.#seed + 2);
    await comeToRest(this, this.#to, { who: "the end", to: this.#to, chance, isOver: () => false });
    await drain(this.#to, heavy);
    await this.#judgeRoom();
  }

  async #judgeFates(): Promise<void> {
    for (const [queue, fate] of this.#fates) {
      const reply = await this.#to.send({ method: "GET", path: `/queues/${queue}` });
      const is = reply !== undefined && "body" in reply ? "there" : "gone";
      if (fate !== "unknown" && is !== fate) this.#wrongs.push(`${queue} is ${is} and was told to be ${fate}`);
    }
  }

  /** The same under the same key has the same answer. */
  async #judgeMemory(): Promise<void> {
    for (const { request, told } of [...this.#to.kept]) {
      const reply = await this.#to.send(request);
      const now = reply !== undefined && "body" in reply ? placesIn(reply.body) : JSON.stringify(reply);
      if (now !== placesIn(told)) this.#wrongs.push(`${placesIn(told)} was told under a key, and then ${now}`);
    }
  }

  /** Once it is empty, a limited queue takes as many as it may hold, and no more. */
  async #judgeRoom(): Promise<void> {
    for (const [queue, room, isRing] of [["soak-full", 20, false]] as const) {
      let taken = 0;
      for (; taken <= room; taken++) {
        const body = { messages: [{ body: "room" }] };
        const reply = await this.#to.send({ method: "POST", path: `/queues/${queue}/messages`, body });
        if (reply === undefined || "refused" in reply) break;
      }
      if (taken !== room && !isRing) this.#wrongs.push(`${queue} takes ${taken} messages, and should take ${room}`);
    }
  }

  /** Each epoch of a session is given once, and in order. */
  #judgeEpochs(): void {
    const attached = this.#to.entries.flatMap(({ asked, told, atMs, untilMs = 0 }) =>
      asked.call === "attach" && told !== undefined && "epoch" in told
        ? [{ name: asked.session.name, epoch: told.epoch, atMs, untilMs }]
        : [],
    );
    for (const later of attached) {
      const wrong = attached.find(
        (one) =>
          one !== later &&
          one.name === later.name &&
          (one.epoch === later.epoch || (one.untilMs < later.atMs && one.epoch > later.epoch)),
      );
      if (wrong !== undefined) this.#wrongs.push(`epoch ${later.epoch} of ${later.name} came after ${wrong.epoch}`);
    }
  }

  async setClock(offMs: number): Promise<void> {
    this.#underTest.service.wait(offMs);
  }

  async untilQuiet(): Promise<void> {
    await this.#processes[1].runWorker();
  }

  async untilSwept(): Promise<void> {
    for (let i = 0; i < 2; i++) await this.#processes[0].runSchedule();
  }

  #line(replica: Replica): string {
    const answered = this.#to.entries.filter(({ told }) => told !== undefined).length;
    const deaths = this.#feeds.map(({ deaths }) => deaths).join("+");
    const at = this.#cluster.replicas.indexOf(replica);
    const seconds = ((performance.now() - this.#startedAtMs) / 1_000).toFixed(1);
    return `${this.#to.entries.length} calls, ${answered} answered, ${deaths} deaths of feeds, replica ${at}, ${seconds} s`;
  }
}

const placesIn = (body: unknown): string =>
  JSON.stringify(
    (body as { messages?: { messageId: string; queues: unknown }[] }).messages?.map(({ messageId, queues }) => ({
      messageId,
      queues,
    })),
  );
