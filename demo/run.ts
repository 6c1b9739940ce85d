import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { batchesOf, type Piece, piecesOf } from "./lines.ts";
import { type Counts, type Progress, startProgress } from "./progress.ts";
import { type Proof, prove } from "./proof.ts";
import { randomFrom } from "./random.ts";
import { BATCH, left, move, produce, type Queues, read, type Work } from "./roles.ts";
import { openTransactionLog, type TransactionLog } from "./transaction-log.ts";
import { inDoubt, type Session, type TransactionManager, transactionManager } from "./two-phase.ts";
import { type Kill, planKills, startVictim, type Victim } from "./victim.ts";

export const KILLS = 3;
/** Calls that a batch takes at least: five to send it, seven to move and seven to read it. */
const CALLS_A_BATCH = 19;
const STALL_MS = 120_000;

/** A demo under way; `abandon` kills what it started and removes its data. */
export interface Run {
  readonly done: Promise<Proof>;
  abandon(): Promise<void>;
}

/** Sends the file's lines through two queues while the service is killed, and proves what arrived. */
export function start(file: Uint8Array, seed: number): Run {
  const ending: (() => Promise<void>)[] = [];
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => {
    ended ??= (async () => {
      for (const step of ending.toReversed()) await step();
    })();
    return ended;
  };
  return { done: demonstrate(file, seed, ending).finally(end), abandon: end };
}

/** What the parts of a run share. */
interface Scene {
  readonly victim: Victim;
  readonly manager: TransactionManager;
  readonly log: TransactionLog;
  readonly queues: Queues;
  readonly progress: Progress;
  readonly counts: Counts;
}

async function demonstrate(file: Uint8Array, seed: number, ending: (() => Promise<void>)[]): Promise<Proof> {
  const pieces = piecesOf(file);
  const batches = batchesOf(pieces, BATCH);
  const scene = await setUp(planKills(KILLS, batches.length * CALLS_A_BATCH, randomFrom(seed)), pieces, ending);
  const arrived = await work(scene, batches);
  await scene.victim.finish();
  scene.progress.stop();
  return conclude(scene, pieces, arrived, file);
}

async function setUp(plan: readonly Kill[], pieces: readonly Piece[], ending: (() => Promise<void>)[]): Promise<Scene> {
  const dataDir = await mkdtemp(join(tmpdir(), "cairn-demo-"));
  ending.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const log = openTransactionLog(join(dataDir, "transactions.log"));
  ending.push(async () => log.close());
  const counts: Counts = { sent: 0, moved: 0, arrived: 0, kills: 0 };
  const progress = startProgress(countLines(pieces), KILLS);
  ending.push(async () => progress.stop());
  const victim = await startVictim(join(dataDir, "service"), plan, async (baseUrl, kill, diedAtMs) => {
    const { commit, rollback } = await manager.recover(baseUrl);
    counts.kills += 1;
    progress.show(counts);
    const outMs = Math.round(performance.now() - diedAtMs);
    const fates = `${commit + rollback} in doubt, of which ${commit} committed, ${rollback} rolled back`;
    progress.say(`killed after call ${kill.atCall}, back after ${outMs} ms: ${fates}`);
  });
  ending.push(() => victim.stop());
  const manager = transactionManager(victim, log);
  const suffix = randomBytes(4).toString("hex");
  const queues = { first: `demo-first-${suffix}`, second: `demo-second-${suffix}` };
  return { victim, manager, log, queues, progress, counts };
}

/** The three workers side by side; answers the pieces in the order in which they were read. */
async function work(scene: Scene, batches: readonly (readonly Piece[])[]): Promise<readonly Piece[]> {
  const { victim, manager, queues, progress, counts } = scene;
  for (const queue of [queues.first, queues.second]) await victim.setUp("PUT", `/queues/${queue}`, {});
  const [producer, mover, reader] = [newSession("producer"), newSession("mover"), newSession("reader")];
  for (const session of [producer, mover, reader]) await manager.attach(session);
  const arrived: Piece[] = [];
  let lastMs = performance.now();
  const sharing: Work = {
    manager,
    victim,
    queues,
    onCommit(role, pieces) {
      lastMs = performance.now();
      counts[role] += countLines(pieces);
      if (role === "arrived") arrived.push(...pieces);
      progress.show(counts);
    },
    checkStall() {
      if (performance.now() - lastMs > STALL_MS) throw new Error(`nothing was committed for ${STALL_MS / 1_000} s`);
    },
  };
  let isSent = false;
  let isMoved = false;
  await Promise.all([
    produce(sharing, producer, batches).then(() => {
      isSent = true;
    }),
    move(sharing, mover, () => isSent).then(() => {
      isMoved = true;
    }),
    read(sharing, reader, () => isMoved),
  ]);
  return arrived;
}

async function conclude(
  { victim, log, queues }: Scene,
  pieces: readonly Piece[],
  arrived: readonly Piece[],
  file: Uint8Array,
): Promise<Proof> {
  const messages = (await left(victim, queues.first)) + (await left(victim, queues.second));
  const proof = prove(pieces, arrived, { messages, inDoubt: (await inDoubt(victim.baseUrl)).length }, file);
  const branches = `killed ${victim.kills} times; ${log.commits} branches committed, ${log.rollbacks} rolled back`;
  return { isProved: proof.isProved && victim.kills === KILLS, report: [branches, ...proof.report] };
}

const newSession = (role: string): Session => ({ name: `demo-${role}-${randomBytes(4).toString("hex")}`, epoch: 0 });

const countLines = (pieces: readonly Piece[]): number => new Set(pieces.map(({ line }) => line)).size;
