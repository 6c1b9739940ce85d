/** An operation of the API in a situation: what the crash matrix is made of. */
import type { QueueName } from "../../cdk/queue.ts";
import type { Look } from "../interleavings/look.ts";
import type { Stage } from "../interleavings/scenario.ts";
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import type { InProcess } from "../support/in-process.ts";
import type { Queued } from "../support/queues.ts";
import type { StoredRecord } from "./records.ts";

export interface Operation {
  /** As `cdk/routes.ts` has it: `<method> <path>`; or the handler of a schedule or of a queue. */
  readonly route: string;
  /** What tells it from the other operations of its route. */
  readonly how: string;
  /** Made by a stage whose only process this is. */
  readonly setUp: (stage: Stage, process: InProcess) => Promise<Scene>;
  /** Each message is decided on its own: some may have been, when the process stops. */
  readonly isByMessage?: true;
  /** An ordinary read answers it: it may tell what was true a moment ago. Why that is so. */
  readonly mayBeLate?: string;
  readonly isLarge?: true;
  /** By its name in the look, a queue whose messages need not be stored: a call that was cut off may have lost them. */
  readonly mayLose?: string;
}

export interface Scene {
  readonly look: Look;
  /** The one request, made by a client without context; the same one each time. Without it the schedule runs. */
  readonly send?: Send;
  /** What else everyone is told, the same whenever the same is there. */
  readonly tell?: Send;
  /** It has to do with the command queue: after a crash the schedule and the workers go on with what is left. */
  readonly line?: Line;
}

export interface Line {
  /** What the scene sent to the command queue was lost. */
  readonly isLost?: true;
  /** The request waits for what a worker does: workers are at it as soon as it has sent something. */
  readonly isAwaited?: true;
}

/** Whether the workers run, in place of a request. */
export const isWork = ({ route }: Operation): boolean => route.startsWith("worker/");

export type Send = (client: Client) => Promise<Answer<unknown>>;

/** What lies in queues that are not empty. */
export type InQueues = Readonly<Partial<Record<QueueName, readonly Queued[]>>>;

/** A scene as it stands in the table, to be shown as often as it is wanted. */
export interface Recorded {
  readonly operation: Operation;
  readonly scene: Scene;
  /** Every state of the table from an empty one to the scene. */
  readonly states: readonly (readonly StoredRecord[])[];
  readonly records: readonly StoredRecord[];
  readonly queued: InQueues;
  /** When it was made, by the clock of its process. */
  readonly nowMs: number;
}

export const nameOf = ({ route, how }: Operation): string => `${route} ${how}`;
