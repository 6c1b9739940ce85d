/** What the document says of exchanges and bindings. */
import {
  bindBody,
  bindingsQuery,
  exchangeBody,
  publishBody,
  unbindQuery,
} from "../../shared/edge/schemas/exchanges.ts";
import { binding, bindingPage, command, enqueued, enqueuedOrCommand, exchange, exchangeWithStats } from "./answers.ts";
import type { Operations } from "./operation.ts";

export const exchangeOperations: Operations = {
  "exchanges/declare": {
    summary: "Declare an exchange",
    description:
      "Declared again with another type it is 409 `not-allowed`, with another `alternateExchange` 412. The alternate must exist. `amq.direct`, `amq.fanout`, `amq.topic` and `amq.match` (headers) always exist.",
    headers: ["Session", "Prefer"],
    body: exchangeBody,
    answers: {
      201: ["Created.", exchange],
      200: ["It exists as it is asked for.", exchange],
      202: ["Stored as a command.", command],
    },
    problems: ["not-found", "session-fenced", "not-allowed", "precondition-failed"],
  },
  "exchanges/get": {
    summary: "Type and stats of an exchange",
    description: "`unroutable`: messages published to it that reached no queue and were dropped.",
    answers: { 200: ["The exchange.", exchangeWithStats] },
    problems: ["not-found"],
  },
  "exchanges/delete": {
    summary: "Delete an exchange",
    description:
      "Its bindings go too. 409 `not-allowed` for a standard one, and while another exchange names it as its alternate.",
    headers: ["Session", "Prefer"],
    answers: { 204: ["Deleted."], 202: ["Stored as a command.", command] },
    problems: ["not-found", "session-fenced", "not-allowed"],
  },
  "exchanges/bind": {
    summary: "Bind a queue to an exchange",
    description:
      "A queue may be bound by many keys. Of a topic exchange, the words of a key stand between dots: `*` is one word, `#` none or more. Of a headers exchange, `arguments` say which headers a message must bring, all of them or, with `x-match` `any`, one; null asks only that the header is there, names that begin with `x-` are not looked for. The same binding again is 200, with other arguments 412. What is published after the answer is routed by it.",
    headers: ["Session", "Prefer"],
    body: bindBody,
    answers: {
      201: ["Bound.", binding],
      200: ["It was bound so.", binding],
      202: ["Stored as a command.", command],
    },
    problems: ["not-found", "session-fenced", "precondition-failed"],
  },
  "exchanges/list-bindings": {
    summary: "List an exchange's bindings",
    description: "In the order of their keys. A page may be shorter than its limit although there are more.",
    query: bindingsQuery,
    answers: { 200: ["A page; `cursor` where there may be more.", bindingPage] },
    problems: ["not-found"],
  },
  "exchanges/unbind": {
    summary: "Take a binding away",
    description: "What was routed by it stays where it is.",
    headers: ["Session", "Prefer"],
    query: unbindQuery,
    answers: { 204: ["Taken away."], 202: ["Stored as a command.", command] },
    problems: ["not-found", "session-fenced"],
  },
  "exchanges/publish": {
    summary: "Publish messages to an exchange",
    description:
      "Each message goes once to each queue that a binding of the exchange routes it to; one that none does goes to the alternate exchange, and is else dropped and counted (`queues` is empty). With `mandatory` such a message is 422 `no-route`, and nothing is put. All or nothing over all queues: one full queue refuses the whole call. `deduplicationId`: a message is a `duplicate` when it is one on each of its queues. Of messages with one `deduplicationId` that are not persisted, one sent before the first has come to the queue is answered `duplicate: false` too, and is dropped. At most 2,000 queues, and as many copies as an answer of 4 MB can name. With `Xid` routing happens now, and the messages stand on their queues from the branch's commit.",
    headers: ["Session", "Xid", "Idempotency-Key", "Prefer"],
    body: publishBody,
    answers: {
      201: ["Stored wherever it is persisted; with `Xid`, listed on the branch (`completed: false`).", enqueued],
      202: [
        "Nothing of it need be persisted: it is on its way, or its queue had it already; or it is stored as a command.",
        enqueuedOrCommand,
      ],
    },
    problems: [
      "not-found",
      "no-route",
      "session-fenced",
      "illegal-state",
      "resource-limit-exceeded",
      "idempotency-key-reused",
    ],
  },
};
