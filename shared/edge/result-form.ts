/** What commands come to, as answers show it: at once, or later in a completion. */
import type { Outcome, Result } from "../domain/command.ts";
import { parseDelivery } from "../domain/delivery.ts";
import { type EnqueueAnswer, isHandedOn } from "../domain/enqueued.ts";
import { isRefusal, type Refusal } from "../domain/refusal.ts";
import { problemOf } from "./problem.ts";
import { type Answer, answer, deferred } from "./route.ts";
import { outcomesForm } from "./schemas/deliveries.ts";

export const resultForm = (result: Result): Answer => {
  switch (result.kind) {
    case "enqueued": {
      const { messages, completed } = result.answer;
      return answer(isHandedOn(result.answer) ? 202 : 201, { messages, completed });
    }
    case "settled": {
      const deliveries = result.deliveryIds.flatMap((id) => parseDelivery(id) ?? []);
      return answer(200, outcomesForm(deliveries, result.outcomes, settled[result.verb]));
    }
    case "queue-declared":
      return answer(result.isNew ? 201 : 200, { queue: result.queue, ...result.settings });
    case "exchange-declared": {
      const { exchange, type, alternateExchange } = result;
      return answer(result.isNew ? 201 : 200, { exchange, type, alternateExchange });
    }
    case "bound": {
      const { exchange, queue, key: bindingKey } = result.binding;
      return answer(result.isNew ? 201 : 200, { exchange, queue, bindingKey, arguments: result.arguments });
    }
    case "deleted":
      return answer(204);
  }
};

/** What putting messages, or sending a command, came to. */
export const sentForm = (result: EnqueueAnswer | { readonly commandId: number } | Refusal): Answer | Refusal => {
  if (isRefusal(result)) return result;
  return "commandId" in result ? deferred(result.commandId) : resultForm({ kind: "enqueued", answer: result });
};

const settled = { accept: "accepted", release: "released", reject: "rejected", extend: "extended" } as const;

/** A completion: `status` and `body` are what the call would have answered without the preference. */
export const completionForm = ({ commandId, outcome }: { readonly commandId: number; readonly outcome: Outcome }) => {
  if (isRefusal(outcome)) {
    const { statusCode, body } = problemOf(outcome);
    return { commandId: String(commandId), status: statusCode, body: JSON.parse(body) as object };
  }
  const { httpStatus, body } = resultForm(outcome);
  return { commandId: String(commandId), status: httpStatus, body: body ?? null };
};

export const completionBytes = (completion: Parameters<typeof completionForm>[0]): number =>
  Buffer.byteLength(JSON.stringify(completionForm(completion))) + 1;
