/** What a history says, gathered once for all checks. */
import { type Asked, copyOf, type Delivered, type Entry, type QueueRules } from "./history.ts";
import { resolve } from "./resolve.ts";

/** A message on its way in, or one copy of a publish. */
export interface Sent {
  readonly message: string;
  readonly queue: string;
  readonly entry: Entry;
  /** Its place in its call, and in the sequences that this tells. */
  readonly index: number;
  readonly ttlSeconds: number | undefined;
  readonly xid: string | undefined;
  readonly session: string | undefined;
  /** It must be stored before its call is complete; otherwise it may be on its way for a while. */
  readonly isPersisted: boolean;
}

/** A message on its way out: by an acquire, or by the drain at the end. */
export interface Out {
  readonly delivered: Delivered;
  readonly queue: string;
  readonly entry: Entry;
}

/** A branch, and everything that was asked of it. */
export interface BranchFacts {
  readonly xid: string;
  readonly entries: Entry[];
  readonly adds: Sent[];
  readonly removes: { readonly message: string; readonly entry: Entry }[];
  outcome: "committed" | "rolled-back" | "unknown";
}

export interface Facts {
  /** As they were recorded, by their numbers. */
  readonly recorded: ReadonlyMap<number, Entry>;
  /** The same with every command as if it had been answered by its completion. */
  readonly entries: readonly Entry[];
  readonly sent: ReadonlyMap<string, Sent>;
  readonly outs: ReadonlyMap<string, readonly Out[]>;
  /** Accepted outside a branch: by the entry that says so, or that may have done so (`isCertain` false). */
  readonly accepts: ReadonlyMap<string, readonly { readonly entry: Entry; readonly isCertain: boolean }[]>;
  readonly branches: ReadonlyMap<string, BranchFacts>;
  readonly rejects: ReadonlyMap<string, readonly Rejected[]>;
  /** Those that may have moved something. */
  readonly redrives: readonly Entry[];
  readonly rules: ReadonlyMap<string, QueueRules>;
}

/** A message that a reject named, and that it has put away, or may have. */
export interface Rejected {
  readonly entry: Entry;
  readonly queue: string;
  readonly deliveryId: string;
  readonly isCertain: boolean;
}

export const gather = (recorded: readonly Entry[]): Facts => {
  const entries = resolve(recorded);
  const sent = new Map<string, Sent>();
  const outs = new Map<string, Out[]>();
  const accepts = new Map<string, { entry: Entry; isCertain: boolean }[]>();
  const branches = new Map<string, BranchFacts>();
  const rejects = new Map<string, Rejected[]>();
  const redrives: Entry[] = [];
  const rules = new Map<string, QueueRules>();
  for (const entry of entries) {
    const { asked, told } = entry;
    const branch = branchOf(branches, asked);
    branch?.entries.push(entry);
    switch (asked.call) {
      case "declare":
        rules.set(asked.queue, asked.rules);
        break;
      case "redrive":
        if (!isRefused(entry)) redrives.push(entry);
        break;
      case "enqueue":
      case "publish":
        for (const one of sentBy(entry, asked, rules)) {
          sent.set(one.message, one);
          branch?.adds.push(one);
        }
        break;
      case "acquire":
      case "drain":
        for (const delivered of told !== undefined && "deliveries" in told ? told.deliveries : []) {
          push(outs, delivered.message, { delivered, queue: asked.queue, entry });
        }
        break;
      case "accept":
        for (const [index, { message }] of asked.deliveries.entries()) {
          const status = statusOf(entry, index);
          if (status !== "accepted" && status !== "maybe") continue;
          if (branch !== undefined) branch.removes.push({ message, entry });
          else push(accepts, message, { entry, isCertain: status === "accepted" });
        }
        break;
      case "reject":
        for (const [index, { message, deliveryId }] of asked.deliveries.entries()) {
          const status = statusOf(entry, index);
          if (status !== "rejected" && status !== "maybe") continue;
          push(rejects, message, { entry, queue: asked.queue, deliveryId, isCertain: status === "rejected" });
        }
        break;
      default:
        break;
    }
  }
  for (const branch of branches.values()) branch.outcome = outcomeOf(branch);
  return {
    recorded: new Map(recorded.map((entry) => [entry.n, entry])),
    entries,
    sent,
    outs,
    accepts,
    branches,
    rejects,
    redrives,
    rules,
  };
};

const sentBy = (
  entry: Entry,
  asked: Extract<Asked, { call: "enqueue" | "publish" }>,
  rules: ReadonlyMap<string, QueueRules>,
): readonly Sent[] => {
  const { messages, xid, session, isTransient = false } = asked;
  const on = (queue: string) => {
    const { messageDurability = "default" } = rules.get(queue) ?? {};
    const isPersisted = messageDurability === "always" || (messageDurability === "default" && !isTransient);
    return { queue, entry, xid, session: session?.name, isPersisted: xid !== undefined || isPersisted };
  };
  if (asked.call === "enqueue") {
    const { queue, ttlSeconds } = asked;
    return messages.map((message, index) => ({ ...on(queue), message, index, ttlSeconds }));
  }
  return messages.flatMap((message, i) =>
    asked.queues.map((queue, j) => {
      const index = i * asked.queues.length + j;
      return { ...on(queue), message: copyOf(message, queue), index, ttlSeconds: undefined };
    }),
  );
};

/** How a call that settles answered one of its deliveries; `maybe`: it did not answer. */
const statusOf = ({ told }: Entry, index: number): string | undefined => {
  if (told === undefined) return "maybe";
  return "statuses" in told ? told.statuses[index] : "no";
};

const branchOf = (branches: Map<string, BranchFacts>, asked: Asked): BranchFacts | undefined => {
  const xid = "xid" in asked ? asked.xid : undefined;
  if (xid === undefined) return undefined;
  const known = branches.get(xid) ?? { xid, entries: [], adds: [], removes: [], outcome: "unknown" };
  branches.set(xid, known);
  return known;
};

const push = <T>(map: Map<string, T[]>, key: string, value: T): void => {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
};

/** The outcome as the first answer tells that names one; two that differ are an anomaly of their own. */
const outcomeOf = (branch: BranchFacts): BranchFacts["outcome"] =>
  branch.entries.map(outcomeIn).find((outcome) => outcome !== undefined) ?? "unknown";

/** What an answer says of its branch's outcome. */
export const outcomeIn = ({ asked, told }: Entry): "committed" | "rolled-back" | undefined => {
  if (told === undefined) return undefined;
  if ("outcome" in told) return told.outcome === "unknown" ? undefined : told.outcome;
  if (!("xa" in told) || !["commit", "rollback", "prepare"].includes(asked.call)) return undefined;
  if (told.xa !== "XA_OK") return "rolled-back";
  if (asked.call === "prepare") return undefined;
  return asked.call === "commit" ? "committed" : "rolled-back";
};

export const isRefused = ({ told }: Entry): boolean => told !== undefined && "refused" in told;

/** Whether the first was over when the second began. */
export const isBefore = (a: Entry, b: Entry): boolean => a.untilMs !== undefined && a.untilMs < b.atMs;

/** It was answered, and not by a refusal. */
export const isCertain = (entry: Entry): boolean => entry.told !== undefined && !isRefused(entry);
