import { type IsAlive, isLeaseInForce, type Run } from "../../domain/run.ts";
import type { SessionRef } from "../../domain/session.ts";
import type { Context } from "../context.ts";
import { livenessOf } from "./liveness.ts";

/** Whether the sessions live under whose leases these runs stand, read freshly; leases over by their deadline need no look. */
export const leaseLiveness = async (context: Context, runs: readonly Run[]): Promise<IsAlive> =>
  livenessOf(context, leaseSessions(runs, context.now()));

/** The sessions of leases that are in force if their session is. */
export const leaseSessions = (runs: readonly Run[], nowMs: number): readonly SessionRef[] =>
  runs.flatMap(({ slots }) =>
    slots.flatMap((slot) => {
      const session = slot.state === "leased" ? slot.lease.session : undefined;
      if (session === undefined || slot.state !== "leased") return [];
      return isLeaseInForce(slot.lease, nowMs, () => true) ? [session] : [];
    }),
  );
