/** The commands of a line as one run of it knows them, and what each touches. */
import { type HeldLanes, type Lanes, laneOfQueue } from "../../domain/command.ts";
import type { Message } from "../../domain/message.ts";
import type { StoredCommand } from "../../records/command.ts";
import type { Context } from "../context.ts";
import { loadRequest } from "./load-request.ts";
import type { Opened } from "./open-commands.ts";

/** A command that waits or runs; of a settle, its part on one queue. */
export interface Entry {
  readonly id: number;
  /** Undefined when its record cannot be read. */
  readonly command: StoredCommand | undefined;
  readonly queue: string | undefined;
  /** Undefined as long as they are not known: of a publish, and of the delete of an exchange, which may have an alternate. */
  lanes: Lanes | undefined;
  isRunning: boolean;
  /** Not before; 0: at once. */
  retryAtMs: number;
  pauseMs: number;
}

export const entriesOf = ({ id, command }: Opened): readonly Entry[] => {
  const entry = { id, command, queue: undefined, isRunning: false, retryAtMs: 0, pauseMs: 0 };
  if (command === undefined) return [{ ...entry, lanes: undefined }];
  if (command.kind === "publish" || command.kind === "delete-exchange") return [{ ...entry, lanes: undefined }];
  if (command.kind !== "settle") return [{ ...entry, lanes: command.lanes }];
  return command.lanes.queues.map((queue) => ({ ...entry, queue, lanes: laneOfQueue(queue) }));
};

/** What routing looks at in a publish. */
interface Routing {
  readonly exchange: string;
  readonly routingKey: string;
  readonly messages: readonly Message[];
}

/** The queues that a publish was routed to may be so old before it is routed again, in ms: others bind too. */
const FRESH_MS = 1_000;

/** Finds the lanes that no request names, each publish read once. */
export class LaneFinder {
  readonly #context: Context;
  readonly #routings = new Map<number, Routing>();
  #known = new Map<number, { readonly lanes: Lanes; readonly atMs: number }>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Exchanges have changed. */
  forget(): void {
    this.#known = new Map();
  }

  /** Undefined when they cannot be known before what is held is done. */
  async lanesOf(entry: Entry, held: HeldLanes): Promise<Lanes | undefined> {
    const { command, id } = entry;
    if (command === undefined) return undefined;
    if (command.kind !== "publish" && command.kind !== "delete-exchange") return entry.lanes;
    const known = this.#known.get(id);
    const nowMs = this.#context.now();
    // As long as it waits for its queues it need not be routed again.
    const isFresh = known !== undefined && (nowMs - known.atMs < FRESH_MS || held.block(known.lanes));
    const lanes = isFresh ? known.lanes : await this.#find(command, held);
    if (lanes === undefined || lanes.routes.some((exchange) => held.changes(exchange))) return undefined;
    if (!isFresh) this.#known.set(id, { lanes, atMs: nowMs });
    entry.lanes = lanes;
    return lanes;
  }

  async #find(command: StoredCommand, held: HeldLanes): Promise<Lanes | undefined> {
    const [exchange = ""] = [...command.lanes.routes, ...command.lanes.changes];
    if (held.changes(exchange)) return undefined;
    const { router, store } = this.#context;
    if (command.kind === "delete-exchange") {
      return { ...command.lanes, changes: await router.chainOf(store, exchange) };
    }
    const [queues, routes] = [await this.#queuesOf(command), await router.chainOf(store, exchange)];
    return { ...command.lanes, queues, routes };
  }

  async #queuesOf(command: StoredCommand): Promise<readonly string[]> {
    const routing = this.#routings.get(command.id) ?? (await this.#read(command));
    if (routing === undefined) return [];
    this.#routings.set(command.id, routing);
    const { router, store } = this.#context;
    const routes = (await router.route(store, routing.exchange, routing.routingKey, routing.messages)) ?? [];
    return [...new Set(routes.flatMap((queues) => [...queues.values()].map(({ name }) => name)))];
  }

  async #read(command: StoredCommand): Promise<Routing | undefined> {
    const requested = await loadRequest(this.#context, command);
    if (requested?.request.kind !== "publish") return undefined;
    const { exchange, routingKey } = requested.request;
    // The bodies are read again when it runs: a long line of them would not fit in memory.
    const messages = requested.messages.map(({ properties }): Message => ({ properties, body: new Uint8Array() }));
    return { exchange, routingKey, messages };
  }
}
