import { expect } from "vitest";
import type { Answer } from "./http.ts";
import { expectOk } from "./moves.ts";
import type { Delivery, Settled } from "./shapes.ts";

/** The delivery ids, as a settling call takes them. */
export const idsOf = (deliveries: readonly Delivery[]): string[] => deliveries.map((delivery) => delivery.deliveryId);

/** Fails unless the settling call answered exactly these statuses, one for each id, in the order given. */
export function expectOutcomes(answer: Answer<Settled>, ids: readonly string[], statuses: readonly string[]): void {
  const { outcomes, completed } = expectOk(answer);
  expect(outcomes).toEqual(ids.map((deliveryId, i) => ({ deliveryId, status: statuses[i], completed: true })));
  expect(completed).toBe(true);
}
