/** Bodies of the delivery routes, and the form of their outcomes. */
import * as z from "zod";
import type { Request, SettleVerb } from "../../domain/command.ts";
import { type Delivery, deliveryId, parseDelivery } from "../../domain/delivery.ts";
import { DELAY_SECONDS_MAX, LEASE_SECONDS_MAX, MESSAGES_PER_CALL } from "../../domain/limits.ts";
import type { SettleOutcome } from "../../domain/run.ts";
import { integer } from "./queues.ts";
import { reasonText } from "./text.ts";

const delivery = z.string({ error: "must be a string" }).transform((text, context): Delivery => {
  const parsed = parseDelivery(text);
  if (parsed !== undefined && deliveryId(parsed) === text) return parsed;
  context.addIssue({ code: "custom", message: "is not a delivery id that an acquire has given" });
  return z.NEVER;
});

const many = `must name 1 to ${MESSAGES_PER_CALL} deliveries`;

const deliveryIds = z.array(delivery, { error: many }).min(1, { error: many }).max(MESSAGES_PER_CALL, { error: many });

const reason = reasonText.optional();

export const acceptBody = z.strictObject({ deliveryIds });

export const releaseBody = z.strictObject({
  deliveryIds,
  delaySeconds: integer(0, DELAY_SECONDS_MAX).default(0),
  reason,
});

export const rejectBody = z.strictObject({ deliveryIds, reason });

export const extendBody = z.strictObject({ deliveryIds, leaseSeconds: integer(1, LEASE_SECONDS_MAX) });

/** A settling call as a command that is stored. */
export const settleRequest = (
  verb: SettleVerb,
  body: {
    readonly deliveryIds: readonly Delivery[];
    readonly delaySeconds?: number;
    readonly reason?: string | undefined;
  },
): Extract<Request, { kind: "settle" }> => ({
  kind: "settle",
  verb,
  deliveryIds: body.deliveryIds.map(deliveryId),
  delaySeconds: body.delaySeconds ?? 0,
  ...(body.reason !== undefined && { reason: body.reason }),
});

/** The answer of a settling call: one outcome a delivery, in the order given; `done` is the verb's word for `ok`. */
export const outcomesForm = (
  deliveries: readonly Delivery[],
  outcomes: readonly SettleOutcome[],
  done: "accepted" | "released" | "rejected" | "extended",
) => ({
  outcomes: deliveries.map((delivery, i) => {
    const outcome = outcomes[i] ?? "not-found";
    return { deliveryId: deliveryId(delivery), status: outcome === "ok" ? done : outcome, completed: true };
  }),
  completed: true,
});
