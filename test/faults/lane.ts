/** A process of its own on a table of its own: where one case after the other is played, beside those of other lanes. */
import {
  DeleteItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { QueueName } from "../../cdk/queue.ts";
import type { InSession, Stage } from "../interleavings/scenario.ts";
import type { InProcess, InProcessService, SdkCall } from "../support/in-process.ts";
import { expectOk } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import type { Queued } from "../support/queues.ts";
import { isWrite } from "./fault.ts";
import type { InQueues, Operation, Recorded, Scene } from "./operation.ts";
import { isEnded, readElsewhere, recordsOf, remove, restore, type StoredRecord, seenBefore } from "./records.ts";

const SESSION_SECONDS = 86_400;

export class Lane {
  readonly process: InProcess;
  readonly #service: InProcessService;
  readonly #table: string;
  #past: Promise<string> | undefined;
  #left: readonly StoredRecord[] | undefined;

  private constructor(service: InProcessService, process: InProcess, table: string) {
    this.#service = service;
    this.process = process;
    this.#table = table;
  }

  static async open(service: InProcessService, number: number): Promise<Lane> {
    const table = await service.newTable();
    const process = await service.process(`lane ${number}`);
    await process.restart(table);
    return new Lane(service, process, table);
  }

  /** The time by the clock of the process. */
  now(): number {
    return this.#service.now() + this.process.aheadMs;
  }

  pass(ms: number): void {
    this.process.aheadMs += ms;
  }

  /** A stage for the helpers of the interleavings: everything in this lane. */
  stage(): Stage {
    let lasting: InSession | undefined;
    const { client } = this.process;
    return {
      client,
      processes: [],
      wait: (ms) => this.pass(ms),
      runSchedule: () => this.process.runSchedule(),
      drainQueue: () => this.#service.queues.drain(this.#table),
      work: (messages) => this.#work(messages),
      async lastingSession() {
        if (lasting === undefined) {
          const session = unique("session");
          lasting = { session, epoch: expectOk(await client.attach(session, SESSION_SECONDS), 201).epoch };
        }
        return lasting;
      },
    };
  }

  async #work(messages: readonly Queued[]): Promise<void> {
    for (const message of messages) await this.process.deliver([message]);
    await this.process.runWorker();
  }

  /** Makes the scene of an operation, on a table without records, and keeps every state on the way to it. */
  async record(operation: Operation): Promise<Recorded> {
    this.process.aheadMs = 0;
    this.#left = undefined;
    await restore(this.#service.table, this.#table, []);
    await this.#service.queues.renew(this.#table);
    await this.process.restart();
    const states: (readonly StoredRecord[])[] = [[]];
    if (operation.isLarge !== true) {
      this.process.onCall = async (call, next) => {
        if (isWrite(call)) states.push(await this.records());
        return next();
      };
    }
    const scene = await operation.setUp(this.stage(), this.process);
    const records = await this.records();
    const queued = queuedBy(operation, scene, await this.#service.queues.drain(this.#table));
    return { operation, scene, states: [...states, records], records, queued, nowMs: this.now() };
  }

  /** The scene once more, in a process that has just started, at the time at which the scene was made. */
  async show(recorded: Recorded): Promise<void> {
    const found = this.#left;
    this.#left = undefined;
    await restore(this.#service.table, this.#table, recorded.records, found);
    if (recorded.scene.line !== undefined) await this.fillQueues(recorded.queued);
    this.process.aheadMs = recorded.nowMs - this.#service.now();
    await this.process.restart();
  }

  /** The case is over, and these are the table's records: they need not be read again. */
  left(records: readonly StoredRecord[]): void {
    this.#left = records;
  }

  /** New queues, for a process that is about to start, which know nothing of what was sent before. */
  async fillQueues(queued: InQueues): Promise<void> {
    await this.#service.queues.renew(this.#table);
    for (const source of queueNames) await this.#service.queues.fill(this.#table, queued[source] ?? [], source);
  }

  /** Empties the queues. */
  async drainQueues(): Promise<InQueues> {
    const { queues } = this.#service;
    const [commands, failed] = await Promise.all(queueNames.map((name) => queues.drain(this.#table, name)));
    return { ...(commands?.length && { commands }), ...(failed?.length && { "failed-commands": failed }) };
  }

  records(): Promise<readonly StoredRecord[]> {
    return recordsOf(this.#service.table, this.#table);
  }

  async deleteEnded(): Promise<void> {
    const nowMs = this.now();
    await remove(
      this.#service.table,
      this.#table,
      (await this.records()).filter((record) => isEnded(record, nowMs)),
    );
  }

  /** What a read would have been answered earlier. */
  async readPast({ operation, input }: SdkCall, which: "last" | "none", recorded: Recorded): Promise<object> {
    const seen = which === "none" ? [] : seenBefore(operation, input, recorded.states);
    this.#past ??= this.#service.newTable();
    const past = await this.#past;
    await restore(this.#service.table, past, seen);
    return readElsewhere(this.#service.table, operation, input, past);
  }

  /** Makes a write of the product once more, as the network may deliver it once more. */
  land({ operation, input }: SdkCall, isForgotten: boolean): Promise<object> {
    const { table } = this.#service;
    const given = input as never;
    switch (operation) {
      case "PutItem":
        return table.send(new PutItemCommand(given));
      case "UpdateItem":
        return table.send(new UpdateItemCommand(given));
      case "DeleteItem":
        return table.send(new DeleteItemCommand(given));
      case "TransactWriteItems":
        return table.send(
          new TransactWriteItemsCommand(
            isForgotten ? { ...input, ClientRequestToken: undefined, ...only(input) } : given,
          ),
        );
      default:
        throw new Error(`${operation} is no write`);
    }
  }
}

const queueNames = ["commands", "failed-commands"] as const satisfies readonly QueueName[];

/** Of what was sent, the first was delivered too often where that is the operation, and no other has come yet. */
const queuedBy = ({ route }: Operation, { line }: Scene, sent: readonly Queued[]): InQueues => {
  if (line === undefined || line.isLost === true) return {};
  return route === "worker/failed-commands" ? { "failed-commands": sent.slice(0, 1) } : { commands: sent };
};

const only = (input: object) => ({ TransactItems: (input as { TransactItems: [] }).TransactItems });
