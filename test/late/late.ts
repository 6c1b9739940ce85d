/** What a late message is: the request, what it carries of its time, and what began meanwhile. */
import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import type { Settled } from "../support/shapes.ts";

/** What a request carries that another one may take the place of. */
export const kinds = ["epoch", "lease", "incarnation", "attempt"] as const;
export type Kind = (typeof kinds)[number];

/** The service, by the process that the late request goes to, and by the one that everybody else's go to. */
export interface Stage {
  readonly late: Client;
  readonly others: Client;
  /** Lets so much time pass, for both. */
  wait(ms: number): void;
}

/** One request, made while what it carries is of now. */
export interface Late {
  readonly send: () => Promise<Answer<unknown>>;
  /** Lets the next epoch, lease, incarnation or attempt begin. */
  readonly next: () => Promise<void>;
  /**
   * Nothing on the wire tells whose the request is: only when it has looked at the record of this name before the next one
   * began, it knows which it is about.
   */
  readonly knowsBy?: string;
}

/** What is known of a request that was held on its way: what it had read and written by then. */
export interface Held {
  /** Whether any call that it had an answer of named this. */
  hadRead(name: string): boolean;
  /** Whether it had written anything that counts: not only a counter, or a body that nothing refers to yet. */
  readonly hadWritten: boolean;
}

/** One verb that carries something, and how it is told that its time is over. */
export interface Row {
  readonly carries: Kind;
  /** As `cdk/routes.ts` has it: `<method> <path>`. */
  readonly route: string;
  /** What tells it from the other rows of its route. */
  readonly how: string;
  readonly make: (stage: Stage) => Promise<Late>;
  /** What it is told when it comes late; absent when nobody can tell it from one of now. */
  readonly told?: string;
  /** What it is told when it was under way: a retry may be asked for besides. */
  readonly toldUnderWay: readonly string[];
  /** When it may still do its work though it was under way, and why: what the design says. */
  readonly mayLand?: { readonly why: string; readonly when: (held: Held) => boolean };
}

/** What a session does, that is to be sent late: by the client given, which has the session's epoch of then. */
export type Doing = (session: Client, stage: Stage) => Promise<(late: Client) => Promise<Answer<unknown>>>;

/** Makes a row of what a session does. */
export type MakeRow = (route: string, how: string, doing: Doing, mayLand?: Row["mayLand"]) => Row;

/** An answer in a word: the problem's code, the outcomes of deliveries, the XA status, or the HTTP status. */
export const toldBy = (answer: Answer<unknown>): string => {
  if (answer.problem !== undefined) return answer.problem.code;
  const { xa, outcomes } = (answer.body ?? {}) as { xa?: string } & Partial<Settled>;
  return xa ?? outcomes?.map(({ status }) => status).join(", ") ?? String(answer.status);
};
