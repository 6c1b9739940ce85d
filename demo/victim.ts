import { setTimeout as sleep } from "node:timers/promises";
import { type Service, startService } from "../local/service.ts";
import { type Scope, send } from "./calls.ts";

/** A service that is killed in the middle of its work, at calls chosen beforehand. */
export interface Victim {
  /** One call of the work: it waits while the service is down, and it may be the one that is killed. */
  call<Body>(scope: Scope, method: string, path: string, body?: object): Promise<Body>;
  /** A call that is not part of the work. */
  setUp(method: string, path: string, body?: object): Promise<unknown>;
  readonly baseUrl: string;
  readonly kills: number;
  /** The kills that no call was left for. */
  finish(): Promise<void>;
  stop(): Promise<void>;
}

/** Kills the service so many milliseconds after this call of the work was sent, counted from 1. */
export interface Kill {
  readonly atCall: number;
  readonly afterMs: number;
}

/** What is done when the service is up again, before anyone else may call. `diedAtMs`: by `performance.now()`. */
export type Recover = (baseUrl: string, kill: Kill, diedAtMs: number) => Promise<void>;

const LONGEST_DELAY_MS = 40;

/** One kill in each part of the work, at a random call of it. */
export function planKills(kills: number, calls: number, random: () => number): readonly Kill[] {
  return Array.from({ length: kills }, (_, i) => ({
    atCall: Math.max(1, Math.ceil(((i + random()) * calls) / kills)),
    afterMs: Math.floor(random() * LONGEST_DELAY_MS),
  }));
}

/** Starts the service on its own data folder and any free port; every restart may move it to another one. */
export async function startVictim(dataDir: string, plan: readonly Kill[], recover: Recover): Promise<Victim> {
  let service: Service = await startService({ dataDir });
  let calls = 0;
  let kills = 0;
  let isStopped = false;
  let killing: Promise<void> | undefined;
  /** From the kill until it has recovered. */
  let down: Promise<void> | undefined;

  const killAndRestart = async (kill: Kill): Promise<void> => {
    const diedAtMs = performance.now();
    await service.kill9();
    kills += 1;
    service = await startService({ dataDir });
    await recover(service.baseUrl, kill, diedAtMs);
    down = undefined;
  };

  const carryOut = async (kill: Kill): Promise<void> => {
    await sleep(kill.afterMs);
    if (isStopped) return;
    down = killAndRestart(kill);
    await down;
    killing = undefined;
  };

  const begin = (kill: Kill): void => {
    killing = carryOut(kill);
    // Whoever calls next is told of a failure; nobody may be waiting yet.
    killing.catch(() => {});
  };

  return {
    async call(scope, method, path, body) {
      while (down !== undefined) await down;
      // A lost answer would be asked for again and again.
      if (isStopped) throw new Error("the service was stopped");
      calls += 1;
      const kill = plan[kills];
      const answer = send<never>(service.baseUrl, scope, method, path, body);
      if (killing === undefined && kill !== undefined && calls >= kill.atCall) begin(kill);
      return answer;
    },
    setUp: (method, path, body) => send(service.baseUrl, {}, method, path, body),
    get baseUrl() {
      return service.baseUrl;
    },
    get kills() {
      return kills;
    },
    async finish() {
      await killing;
      for (let kill = plan[kills]; kill !== undefined; kill = plan[kills]) {
        begin(kill);
        await killing;
      }
    },
    async stop() {
      isStopped = true;
      await killing?.catch(() => {});
      await service.stop();
    },
  };
}
