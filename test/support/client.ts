import { type Fetch, fetchFrom } from "./fetch.ts";
import { type Answer, type Request, send } from "./http.ts";
import type {
  AttachedSession,
  BindingInput,
  BranchView,
  CompletionPage,
  Deferred,
  Delivery,
  Enqueued,
  ExchangeView,
  MessageInput,
  MessagePage,
  QueuePage,
  QueueSettings,
  QueueStats,
  QueueView,
  RecoveredBranch,
  RecoverPage,
  RecoveryReport,
  SessionView,
  Settled,
  StoreStatusView,
  Synced,
  XaAnswer,
} from "./shapes.ts";

/** The context headers that a client sends with every call. */
export interface Context {
  readonly session?: string;
  readonly epoch?: number;
  readonly xid?: string;
  /** `Prefer: respond-async`. */
  readonly prefersAsync?: boolean;
}

export interface StartFlags {
  readonly join?: boolean;
  readonly resume?: boolean;
  readonly timeoutSeconds?: number;
}

type RouteCalls = ReturnType<typeof queueCalls> &
  ReturnType<typeof exchangeCalls> &
  ReturnType<typeof deliveryCalls> &
  ReturnType<typeof sessionCalls> &
  ReturnType<typeof branchCalls>;

export interface Client extends RouteCalls {
  readonly context: Context;
  /** Any request at all, for what the typed calls cannot say. */
  readonly call: Call;
  health(): Promise<Answer<{ status: string; version: string }>>;
  recovery(cursor?: string): Promise<Answer<RecoveryReport>>;
  storeStatus(): Promise<Answer<StoreStatusView>>;
  /** The same client in another context; what is not named stays as it is. */
  with(more: Context): Client;
  /** The same client working in branch `xid`: its message calls carry the `Xid` header. */
  within(xid: string): Client;
  /** The same client, whose calls are stored as commands of its session; `deferred` tells their ids. */
  readonly later: Client;
  /** Attaches (or resumes) the session and answers a client that speaks in it. */
  attached(session: string, timeoutSeconds?: number): Promise<Client>;
}

/**
 * A client of every route of the contract. `baseUrl` may be a function, so that a client (and the sessions made from it)
 * outlives a restart that moves the service to another port. Each call answers what came back, refusals included.
 */
export function client(baseUrl: string | (() => string), context: Context = {}): Client {
  return clientOf(fetchFrom(baseUrl), context);
}

/** The same, of a service that is reached so. */
export function clientOf(fetch: Fetch, context: Context = {}): Client {
  const call = <Body = unknown>(method: string, path: string, request: Omit<Request, "method" | "path"> = {}) =>
    send<Body>(fetch, {
      ...request,
      method,
      path,
      headers: { ...contextHeaders(context), ...request.headers },
    });
  return {
    context,
    call,
    ...queueCalls(call),
    ...exchangeCalls(call),
    ...deliveryCalls(call),
    ...sessionCalls(call),
    ...branchCalls(call),
    health: () => call<{ status: string; version: string }>("GET", "/health"),
    recovery: (cursor) => call<RecoveryReport>("POST", "/recovery", { body: given({ cursor }) }),
    storeStatus: () => call<StoreStatusView>("GET", "/store/status"),
    with: (more) => clientOf(fetch, { ...context, ...more }),
    within: (xid) => clientOf(fetch, { ...context, xid }),
    get later() {
      return clientOf(fetch, { ...context, prefersAsync: true });
    },
    async attached(session, timeoutSeconds) {
      const { epoch } = (await sessionCalls(call).attach(session, timeoutSeconds)).body;
      return clientOf(fetch, { session, epoch });
    },
  };
}

export type Call = <Body = unknown>(
  method: string,
  path: string,
  request?: Omit<Request, "method" | "path">,
) => Promise<Answer<Body>>;

function queueCalls(call: Call) {
  const get = (queue: string) => call<QueueView>("GET", `/queues/${queue}`);
  return {
    declare: (queue: string, settings?: QueueSettings) =>
      call<QueueView>("PUT", `/queues/${queue}`, settings === undefined ? {} : { body: settings }),
    getQueue: get,
    stats: async (queue: string): Promise<QueueStats> => (await get(queue)).body.stats,
    listQueues: (query: { prefix?: string; limit?: number; cursor?: string | undefined } = {}) =>
      call<QueuePage>("GET", `/queues${queryString(query)}`),
    deleteQueue: (queue: string, query: { ifEmpty?: boolean; ifUnused?: boolean } = {}) =>
      call("DELETE", `/queues/${queue}${queryString(query)}`),
    purge: (queue: string) => call<{ purged: number; more: boolean }>("POST", `/queues/${queue}/purge`),
    redrive: (queue: string, to?: string) =>
      call<{ redriven: number; left: number; more: boolean }>("POST", `/queues/${queue}/redrive`, {
        body: given({ to }),
      }),
    browse: (queue: string, query: { after?: string | undefined; limit?: number; cursor?: string | undefined } = {}) =>
      call<MessagePage>("GET", `/queues/${queue}/messages${queryString(query)}`),
    enqueue: (queue: string, messages: readonly MessageInput[], headers: Readonly<Record<string, string>> = {}) =>
      call<Enqueued>("POST", `/queues/${queue}/messages`, { body: { messages }, headers }),
    acquire: (
      queue: string,
      body: {
        maxMessages?: number;
        waitSeconds?: number;
        leaseSeconds?: number;
        settle?: "explicit" | "none";
      } = {},
    ) => call<{ deliveries: readonly Delivery[] }>("POST", `/queues/${queue}/deliveries`, { body }),
  };
}

function exchangeCalls(call: Call) {
  return {
    declareExchange: (exchange: string, body: { type: string; alternateExchange?: string | null }) =>
      call<ExchangeView>("PUT", `/exchanges/${exchange}`, { body }),
    getExchange: (exchange: string) =>
      call<ExchangeView & { stats: { unroutable: string } }>("GET", `/exchanges/${exchange}`),
    deleteExchange: (exchange: string) => call("DELETE", `/exchanges/${exchange}`),
    bind: (exchange: string, body: BindingInput) =>
      call<BindingInput>("PUT", `/exchanges/${exchange}/bindings`, { body }),
    listBindings: (exchange: string, query: { limit?: number; cursor?: string | undefined } = {}) =>
      call<{ bindings: readonly BindingInput[]; cursor?: string }>(
        "GET",
        `/exchanges/${exchange}/bindings${queryString(query)}`,
      ),
    unbind: (exchange: string, query: { queue: string; bindingKey?: string }) =>
      call("DELETE", `/exchanges/${exchange}/bindings${queryString(query)}`),
    publish: (
      exchange: string,
      messages: readonly MessageInput[],
      body: { routingKey?: string; mandatory?: boolean } = {},
      headers: Readonly<Record<string, string>> = {},
    ) => call<Enqueued>("POST", `/exchanges/${exchange}/messages`, { body: { messages, ...body }, headers }),
  };
}

function deliveryCalls(call: Call) {
  return {
    accept: (deliveryIds: readonly string[]) => call<Settled>("POST", "/deliveries/accept", { body: { deliveryIds } }),
    release: (deliveryIds: readonly string[], more: { delaySeconds?: number; reason?: string } = {}) =>
      call<Settled>("POST", "/deliveries/release", { body: { deliveryIds, ...more } }),
    reject: (deliveryIds: readonly string[], reason?: string) =>
      call<Settled>("POST", "/deliveries/reject", { body: given({ deliveryIds, reason }) }),
    extend: (deliveryIds: readonly string[], leaseSeconds: number) =>
      call<Settled>("POST", "/deliveries/extend", { body: { deliveryIds, leaseSeconds } }),
  };
}

function sessionCalls(call: Call) {
  const put = (session: string, timeoutSeconds?: number) =>
    call<AttachedSession>("PUT", `/sessions/${session}`, { body: given({ timeoutSeconds }) });
  return {
    /** Attach or resume. On a client with an epoch in its context this call is a keep-alive. */
    attach: put,
    /** Keep alive: send it from a client that has the session's epoch in its context. */
    keepAlive: put,
    getSession: (session: string) => call<SessionView>("GET", `/sessions/${session}`),
    detach: (session: string) => call("DELETE", `/sessions/${session}`),
    completions: (session: string, query: { after?: string; waitSeconds?: number } = {}) =>
      call<CompletionPage>("GET", `/sessions/${session}/completions${queryString(query)}`),
    sync: (session: string, waitSeconds?: number) =>
      call<Synced>("POST", `/sessions/${session}/sync`, { body: given({ waitSeconds }) }),
  };
}

function branchCalls(call: Call) {
  const verb = <Body>(xid: string, name: string, body?: unknown) =>
    call<Body>("POST", `/dtx/${xid}/${name}`, body === undefined ? {} : { body });
  const recoverPage = (query: { limit?: number; cursor?: string | undefined } = {}) =>
    call<RecoverPage>("GET", `/dtx${queryString({ state: "prepared", ...query })}`);
  return {
    start: (xid: string, flags?: StartFlags) => verb<XaAnswer>(xid, "start", flags),
    end: (xid: string, flags?: { fail?: boolean; suspend?: boolean }) => verb<XaAnswer>(xid, "end", flags),
    prepare: (xid: string) => verb<XaAnswer>(xid, "prepare"),
    commit: (xid: string, flags?: { onePhase?: boolean }) => verb<XaAnswer>(xid, "commit", flags),
    rollback: (xid: string) => verb<XaAnswer>(xid, "rollback"),
    forget: (xid: string) => verb(xid, "forget"),
    heuristic: (xid: string, outcome: "commit" | "rollback", reason = "the operator decided") =>
      verb<XaAnswer>(xid, "heuristic", { outcome, reason }),
    getTimeout: (xid: string) => call<{ timeoutSeconds: number }>("GET", `/dtx/${xid}/timeout`),
    setTimeout: (xid: string, timeoutSeconds: number) =>
      call<{ timeoutSeconds: number }>("PUT", `/dtx/${xid}/timeout`, { body: { timeoutSeconds } }),
    getBranch: (xid: string) => call<BranchView>("GET", `/dtx/${xid}`),
    recoverPage,
    /** Every page of recover, in the order given, at most 1,000 pages. */
    async recover(limit?: number): Promise<RecoveredBranch[]> {
      const branches: RecoveredBranch[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < 1000; page += 1) {
        const { body } = await recoverPage(given({ limit, cursor }));
        branches.push(...body.branches);
        cursor = body.cursor;
        if (cursor === undefined) return branches;
      }
      throw new Error("recover did not end within 1,000 pages");
    },
  };
}

function contextHeaders(context: Context): Record<string, string> {
  return {
    ...(context.session === undefined ? {} : { session: context.session }),
    ...(context.epoch === undefined ? {} : { "session-epoch": String(context.epoch) }),
    ...(context.xid === undefined ? {} : { xid: context.xid }),
    ...(context.prefersAsync === true ? { prefer: "respond-async" } : {}),
  };
}

/** The fields that have a value. */
function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

function queryString(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? "" : `?${parameters}`;
}

/** The id of a call that was stored as a command. */
export const deferred = (answer: Answer<unknown>): string => {
  const { commandId } = answer.body as Partial<Deferred>;
  if (answer.status !== 202 || commandId === undefined) throw new Error(`not stored: ${JSON.stringify(answer)}`);
  return commandId;
};
