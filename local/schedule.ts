import { randomUUID } from "node:crypto";
import type { ScheduledFunction } from "../cdk/routes.ts";
import { contextOf, type Handler, type LoadHandler, loadLambda, localAccount } from "./handlers.ts";
import { oneLine } from "./start-failure.ts";

export interface ScheduleOptions {
  readonly schedules: readonly ScheduledFunction[];
  /** Instead of each function's own `rateMinutes`; 0 = never. */
  readonly everySeconds?: number | undefined;
  readonly loadHandler?: LoadHandler;
  /** Where failures are told, a line each. */
  readonly log?: (line: string) => void;
}

/** A running schedule. `stop` starts nothing more; it resolves when what runs is done or after 3 s. */
export interface Schedule {
  stop(): Promise<void>;
}

/** What a function without a route may take here: Lambda's own longest. */
const timeoutMs = 15 * 60_000;
const patienceMs = 3_000;

/** Invokes each function as EventBridge would, first after one period; a run that takes longer delays its next. */
export async function startSchedule(options: ScheduleOptions): Promise<Schedule> {
  const log = options.log ?? ((line: string) => process.stderr.write(`${line}\n`));
  const load = options.loadHandler ?? loadLambda;
  const stops = await Promise.all(
    options.schedules.map(async ({ lambda, rateMinutes }) => {
      const handler = await load(lambda);
      const periodMs = (options.everySeconds ?? rateMinutes * 60) * 1_000;
      return periodMs === 0 ? async () => {} : repeat(periodMs, () => invoke(lambda, handler, log));
    }),
  );
  return {
    stop: async () => {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

/** Runs the work every period, never twice at once, until the returned function is called. */
function repeat(periodMs: number, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work().finally(() => {
      running = undefined;
    });
  }, periodMs);
  return async () => {
    clearInterval(timer);
    let patience: NodeJS.Timeout | undefined;
    const impatient = new Promise((resolve) => {
      patience = setTimeout(resolve, patienceMs);
    });
    await Promise.race([running, impatient]);
    clearTimeout(patience);
  };
}

async function invoke(lambda: string, handler: Handler, log: (line: string) => void): Promise<void> {
  const id = randomUUID();
  try {
    await handler(scheduledEvent(lambda, id, Date.now()), contextOf(lambda, id, timeoutMs));
  } catch (error) {
    log(`${lambda} failed, run ${id}: ${oneLine(error)}`);
  }
}

function scheduledEvent(lambda: string, id: string, nowMs: number): object {
  const region = process.env.AWS_REGION ?? "local";
  return {
    version: "0",
    id,
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account: localAccount,
    time: new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z"),
    region,
    resources: [`arn:aws:events:${region}:${localAccount}:rule/cairn-${lambda.replaceAll("/", "-")}`],
    detail: {},
  };
}
