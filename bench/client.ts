/** What calls cost, as their receipts say. */
export interface Units {
  readonly wru: number;
  readonly rru: number;
}

export interface Delivery {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly body: string;
}

/** The headers that put a call into a session and a branch. */
export interface Scope {
  readonly session?: string;
  readonly epoch?: number;
  readonly xid?: string;
  readonly prefersAsync?: boolean;
}

export interface QueueSettings {
  readonly retentionSeconds?: number;
  readonly messageDurability?: "always" | "never";
  readonly strictOrder?: boolean;
}

/** The routes that are measured. A call that is refused, or an outcome other than `accepted`, throws. */
export interface Client {
  declare(queue: string, settings?: QueueSettings): Promise<void>;
  enqueue(queue: string, bodies: readonly string[]): Promise<void>;
  acquire(queue: string, maxMessages: number): Promise<readonly Delivery[]>;
  accept(deliveries: readonly Delivery[]): Promise<void>;
  /** Runs a dtx verb that must answer XA_OK; again while the service says that the work goes on. */
  verb(xid: string, verb: "start" | "end" | "prepare" | "commit"): Promise<void>;
  /** A client in a new session, which no other one has. */
  attached(): Promise<Client>;
  within(xid: string): Client;
  /** A client whose calls are stored as commands of its session. */
  later(): Client;
  /** Waits until all commands of the session are complete. */
  sync(): Promise<void>;
  /** What all calls of this client, and of those made from it, have cost so far. */
  spent(): Units;
}

interface Calls {
  readonly baseUrl: string;
  wru: number;
  rru: number;
}

/** A client of the service at `baseUrl`, which adds up the receipts of all its calls. */
export const client = (baseUrl: string): Client => clientOf({ baseUrl, wru: 0, rru: 0 }, {});

const clientOf = (calls: Calls, scope: Scope): Client => {
  const post = <Body>(path: string, body: object = {}) => call<Body>(calls, scope, "POST", path, body);
  return {
    declare: async (queue, settings = {}) => {
      await call(calls, scope, "PUT", `/queues/${queue}`, settings);
    },
    enqueue: async (queue, bodies) => {
      await post(`/queues/${queue}/messages`, { messages: bodies.map((body) => ({ body })) });
    },
    acquire: async (queue, maxMessages) => {
      const wanted = { maxMessages, leaseSeconds: 600 };
      return (await post<{ deliveries: readonly Delivery[] }>(`/queues/${queue}/deliveries`, wanted)).deliveries;
    },
    accept: async (deliveries) => {
      const deliveryIds = deliveries.map(({ deliveryId }) => deliveryId);
      const { outcomes = [] } = await post<{ outcomes?: readonly { status: string }[] }>("/deliveries/accept", {
        deliveryIds,
      });
      const other = outcomes.find(({ status }) => status !== "accepted");
      if (other !== undefined) throw new Error(`an accept answered ${other.status}`);
    },
    verb: async (xid, verb) => {
      // A transaction manager decides: the second phase belongs to no session.
      const by = verb === "commit" ? {} : scope;
      const body = verb === "start" ? { timeoutSeconds: 600 } : {};
      const { xa } = await call<{ xa: string }>(calls, by, "POST", `/dtx/${xid}/${verb}`, body);
      if (xa !== "XA_OK") throw new Error(`${verb} answered ${xa}`);
    },
    attached: async () => {
      const session = `session-${crypto.randomUUID().slice(0, 8)}`;
      const { epoch } = await call<{ epoch: number }>(calls, {}, "PUT", `/sessions/${session}`, {
        timeoutSeconds: 3600,
      });
      return clientOf(calls, { session, epoch });
    },
    within: (xid) => clientOf(calls, { ...scope, xid }),
    later: () => clientOf(calls, { ...scope, prefersAsync: true }),
    sync: async () => {
      for (;;) {
        const { open } = await post<{ open: readonly string[] }>(`/sessions/${scope.session}/sync`);
        if (open.length === 0) return;
      }
    },
    spent: () => ({ wru: calls.wru, rru: calls.rru }),
  };
};

/** A large commit may need this many calls of 20 s. */
const ATTEMPTS = 10;

const call = async <Body>(calls: Calls, scope: Scope, method: string, path: string, body: object): Promise<Body> => {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(calls.baseUrl + path, {
      method,
      headers: { "content-type": "application/json", ...headersOf(scope) },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const receipt = /^wru=(?<wru>[\d.]+), rru=(?<rru>[\d.]+)$/.exec(response.headers.get("consumed-capacity") ?? "");
    if (receipt?.groups === undefined) throw new Error(`${method} ${path} came without a receipt: ${text}`);
    calls.wru += Number(receipt.groups.wru);
    calls.rru += Number(receipt.groups.rru);
    if (response.ok) return JSON.parse(text) as Body;
    if (response.status !== 503 || attempt === ATTEMPTS) throw new Error(`${method} ${path} was refused: ${text}`);
  }
};

const headersOf = ({ session, epoch, xid, prefersAsync }: Scope): Record<string, string> => ({
  ...(session !== undefined && { session }),
  ...(epoch !== undefined && { "session-epoch": String(epoch) }),
  ...(xid !== undefined && { xid }),
  ...(prefersAsync === true && { prefer: "respond-async" }),
});
