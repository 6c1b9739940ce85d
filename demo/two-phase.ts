import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Lost, Refused, send } from "./calls.ts";
import type { Message } from "./lines.ts";
import { requestsOf } from "./lines.ts";
import type { Decision, TransactionLog } from "./transaction-log.ts";
import type { Victim } from "./victim.ts";

/** A session of one worker; recovery resumes it, which raises its epoch. */
export interface Session {
  readonly name: string;
  epoch: number;
}

export interface Delivery extends Message {
  readonly deliveryId: string;
}

/** What a worker may do in one branch. */
export interface BranchWork {
  /** Leases up to so many messages; it need not be in the branch. */
  take(queue: string, maxMessages: number): Promise<readonly Delivery[]>;
  begin(): Promise<void>;
  publish(queue: string, messages: readonly Message[]): Promise<void>;
  accept(deliveries: readonly Delivery[]): Promise<void>;
}

interface InDoubt {
  readonly branches: readonly { readonly xid: string }[];
  readonly cursor?: string;
}

/** What a recovery found in doubt, and how it was decided. */
export interface Recovered {
  readonly commit: number;
  readonly rollback: number;
}

/** The transaction manager: it outlives the service and has the last word on every branch. */
export interface TransactionManager {
  attach(session: Session): Promise<void>;
  /**
   * Runs work in a branch and brings that to its end in two phases. Answers what the work answered, once the branch is
   * committed (or was never begun); undefined when nothing was done: then the worker begins anew.
   */
  attempt<T>(session: Session, work: (branch: BranchWork) => Promise<T>): Promise<T | undefined>;
  /** After a restart: resumes the sessions, lists what is in doubt, and decides it as the log says. */
  recover(baseUrl: string): Promise<Recovered>;
}

const LEASE_SECONDS = 600;
const TIMEOUT_SECONDS = 600;
const SESSION_SECONDS = 86_400;

export function transactionManager(victim: Victim, log: TransactionLog): TransactionManager {
  const sessions: Session[] = [];

  /** Attaches, or resumes under a newer epoch; again until an answer tells which. */
  const attach = async (session: Session): Promise<void> => {
    const { epoch } = await answered(() =>
      victim.call<{ epoch: number }>({}, "PUT", `/sessions/${session.name}`, { timeoutSeconds: SESSION_SECONDS }),
    );
    session.epoch = epoch;
    if (!sessions.includes(session)) sessions.push(session);
  };

  const carryOut = async (xid: string, decision: Decision): Promise<void> => {
    try {
      await answered(() => victim.call({}, "POST", `/dtx/${xid}/${decision}`, {}));
    } catch (error) {
      // Never begun, or undone and forgotten already: as good as rolled back.
      if (error instanceof Refused && error.code === "not-found" && decision === "rollback") return;
      throw error;
    }
  };

  return {
    attach,
    async attempt(session, work) {
      const xid = `1.${randomBytes(12).toString("hex")}.${randomBytes(4).toString("hex")}`;
      const { epoch } = session;
      const scope = { session: session.name, epoch };
      const verb = (name: string) => victim.call<{ xa: string }>(scope, "POST", `/dtx/${xid}/${name}`, {});
      let isBegun = false;
      let requests = 0;
      const branch: BranchWork = {
        async take(queue, maxMessages) {
          const wanted = { maxMessages, waitSeconds: 1, leaseSeconds: LEASE_SECONDS };
          const path = `/queues/${queue}/deliveries`;
          return (await victim.call<{ deliveries: readonly Delivery[] }>(scope, "POST", path, wanted)).deliveries;
        },
        async begin() {
          isBegun = true;
          await victim.call(scope, "POST", `/dtx/${xid}/start`, { timeoutSeconds: TIMEOUT_SECONDS });
        },
        async publish(queue, messages) {
          for (const request of requestsOf(messages)) {
            requests += 1;
            const inBranch = { ...scope, xid, idempotencyKey: `${xid}-${requests}` };
            await victim.call(inBranch, "POST", `/queues/${queue}/messages`, { messages: request });
          }
        },
        async accept(deliveries) {
          const deliveryIds = deliveries.map(({ deliveryId }) => deliveryId);
          const { outcomes } = await victim.call<{ outcomes: readonly { readonly status: string }[] }>(
            { ...scope, xid },
            "POST",
            "/deliveries/accept",
            { deliveryIds },
          );
          const other = outcomes.find(({ status }) => status !== "accepted");
          if (other !== undefined) throw new Refused("an accept", other.status, `in branch ${xid}`);
        },
      };
      let answer: { readonly of: Awaited<ReturnType<typeof work>> } | undefined;
      try {
        answer = { of: await work(branch) };
        if (!isBegun) return answer.of;
        requireOk(await verb("end"), "end");
        requireOk(await verb("prepare"), "prepare");
      } catch (error) {
        if (!isExpected(error, session.epoch !== epoch)) throw error;
        answer = undefined;
        // Ends the leases and open branches of a worker that does not know what became of its calls; a recovery did it already.
        if (session.epoch === epoch) await attach(session);
      }
      if (!isBegun) return undefined;
      const decision = log.decide(xid, answer === undefined ? "rollback" : "commit");
      await carryOut(xid, decision);
      return decision === "commit" ? answer?.of : undefined;
    },
    async recover(baseUrl) {
      for (const session of sessions) {
        const path = `/sessions/${session.name}`;
        const { epoch } = await send<{ epoch: number }>(baseUrl, {}, "PUT", path, { timeoutSeconds: SESSION_SECONDS });
        session.epoch = epoch;
      }
      const recovered = { commit: 0, rollback: 0 };
      for (const xid of await inDoubt(baseUrl)) {
        // What was not decided before the crash never will be committed.
        const decision = log.decide(xid, "rollback");
        await send(baseUrl, {}, "POST", `/dtx/${xid}/${decision}`, {});
        recovered[decision] += 1;
      }
      return recovered;
    },
  };
}

/** The xids of all prepared branches. */
export async function inDoubt(baseUrl: string): Promise<readonly string[]> {
  const xids: string[] = [];
  let cursor = "";
  for (;;) {
    const page = await send<InDoubt>(baseUrl, {}, "GET", `/dtx?state=prepared${cursor}`);
    xids.push(...page.branches.map(({ xid }) => xid));
    if (page.cursor === undefined) return xids;
    cursor = `&cursor=${encodeURIComponent(page.cursor)}`;
  }
}

/** How often an answer may be lost: a kill takes one of a call; more say that the service is gone for another reason. */
const ATTEMPTS = 20;
const WAIT_MS = 100;

/** Repeats a call that is safe to repeat until it is answered. */
async function answered<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Lost) || attempt === ATTEMPTS) throw error;
    }
    await sleep(WAIT_MS);
  }
}

/** A kill explains lost answers, and every refusal of what was begun before it. */
const isExpected = (error: unknown, isAfterKill: boolean): boolean =>
  error instanceof Lost || (error instanceof Refused && (isAfterKill || error.code === "unavailable"));

const requireOk = ({ xa }: { readonly xa: string }, verb: string): void => {
  if (xa !== "XA_OK") throw new Refused(verb, xa, "the branch was undone");
};
