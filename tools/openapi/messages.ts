/** What the document says of queues and deliveries. */
import { browseQuery, queueListQuery } from "../../shared/edge/schemas/browse.ts";
import { deleteQuery } from "../../shared/edge/schemas/delete.ts";
import { acceptBody, extendBody, rejectBody, releaseBody } from "../../shared/edge/schemas/deliveries.ts";
import { acquireBody, enqueueBody } from "../../shared/edge/schemas/messages.ts";
import { redriveBody, settingsBody } from "../../shared/edge/schemas/queues.ts";
import {
  accepted,
  command,
  deliveries,
  enqueued,
  enqueuedOrCommand,
  extended,
  messagePage,
  purged,
  queue,
  queuePage,
  queueWithStats,
  redriven,
  rejected,
  released,
} from "./answers.ts";
import type { Operations } from "./operation.ts";

const outsideBranches = "With `Xid` it is 400 `command-invalid`: inside a branch deliveries can only be accepted.";
const whoSettles =
  "Whoever has a delivery id may settle it, in any session or none: its lease counts. Each is decided on its own, and the outcomes stand in the order given.";

export const queueOperations: Operations = {
  "queues/list": {
    summary: "List queues",
    description: "In the order of their names.",
    query: queueListQuery,
    answers: { 200: ["A page; `cursor` where there may be more.", queuePage] },
  },
  "queues/declare": {
    summary: "Declare a queue",
    description:
      "Settings never change: declared again with the same ones it is 200, with others 412. A queue may not be its own dead-letter queue; that one need not exist yet. `messageDurability` says which messages are persisted here: all, none, or those whose `deliveryMode` is `persistent`. With `strictOrder` both kinds that one session sends stay in order.",
    headers: ["Session", "Prefer"],
    body: settingsBody,
    answers: {
      201: ["Created.", queue],
      200: ["It exists with these settings.", queue],
      202: ["Stored as a command.", command],
    },
    problems: ["not-found", "session-fenced", "not-allowed", "precondition-failed"],
  },
  "queues/get": {
    summary: "Settings and stats of a queue",
    description:
      "`available`, `leased` (delayed releases included) and `held` are counted message by message. Messages whose time is over count as gone.",
    answers: { 200: ["The queue.", queueWithStats] },
    problems: ["not-found"],
  },
  "queues/delete": {
    summary: "Delete a queue",
    description:
      "Its name is free at once; its messages go to its dead-letter queue, or are dropped, leased ones too. What branches hold follows when they end. Declared again, the name shares nothing with the old queue.",
    headers: ["Session", "Prefer"],
    query: deleteQuery,
    answers: { 204: ["Deleted."], 202: ["Stored as a command.", command] },
    problems: ["not-found", "session-fenced", "precondition-failed"],
  },
  "queues/purge": {
    summary: "Purge a queue",
    description: "Settles the available messages that stood there when it began. `more`: purge again for the rest.",
    answers: { 200: ["Purged.", purged] },
    problems: ["not-found"],
  },
  "queues/redrive": {
    summary: "Redrive dead letters",
    description:
      "Moves the available dead letters of this queue back to the queues that they came from, or to the one named by `to` (then also messages that are no dead letters), in their order, each in one commit. They keep their `messageId`, lose `deadLetter`, and count no deliveries; deduplication ids are not looked at. A queue that is gone or has no room for all of them leaves the rest here (`left`); a ring drops nothing for them. `more`: redrive again for the rest.",
    body: redriveBody,
    answers: { 200: ["Redriven.", redriven] },
    problems: ["not-found"],
  },
  "queues/browse": {
    summary: "Browse available messages",
    description: "Takes nothing and counts no delivery. `cursor` is the sequence to go on after.",
    query: browseQuery,
    answers: { 200: ["A page, in queue order.", messagePage] },
    problems: ["not-found"],
  },
  "queues/enqueue": {
    summary: "Enqueue messages",
    description:
      "All or nothing, in the order given. `priority` (0..9) is kept and has no effect. Values of `headers` are strings, numbers, true or false; as JSON they have at most 16 KiB. What is not persisted on a queue (its `messageDurability`, and where that leaves it open the `deliveryMode`) is handed on without having been stored: it has no `sequence`, may be lost in a disaster or dropped at a full queue, and comes in order. In a session with open commands the call goes behind them. A repeat within one call of a `deduplicationId` is a duplicate too. Of messages with one `deduplicationId` that are not persisted, one sent before the first has come to the queue is answered `duplicate: false` too, and is dropped. With `Xid` the session must be actively associated with the branch; the messages are invisible until its commit, have no `sequence`, and their time to live runs from the commit. With `Xid` all of them wait on the branch, and `Prefer` is not applied.",
    headers: ["Session", "Xid", "Idempotency-Key", "Prefer"],
    body: enqueueBody,
    answers: {
      201: ["Stored; with `Xid`, listed on the branch (`completed: false`).", enqueued],
      202: [
        "Nothing of it need be persisted: it is on its way, or its queue had it already; or it is stored as a command.",
        enqueuedOrCommand,
      ],
    },
    problems: ["not-found", "session-fenced", "illegal-state", "resource-limit-exceeded", "idempotency-key-reused"],
  },
  "queues/acquire": {
    summary: "Acquire messages",
    description:
      'Leases available messages, in queue order. `settle: "none"` removes them on delivery: such deliveries have no `deliveryId` and no `leaseExpiresAt`, and with `Xid` it is 400 `command-invalid`. With `Xid` the session must be actively associated with the branch, as for every message call; the lease itself is no part of the branch. An unknown queue is 404 also while the call waits. `leaseSeconds`: the queue\'s own when left out.',
    headers: ["Session", "Xid"],
    body: acquireBody,
    answers: { 200: ["The deliveries; an empty list when there is nothing.", deliveries] },
    problems: ["not-found", "session-fenced", "command-invalid", "illegal-state"],
  },
};

export const deliveryOperations: Operations = {
  "deliveries/accept": {
    summary: "Accept deliveries",
    description: `Removes them; with \`Xid\` the removal belongs to the branch, in which the session must be actively associated. ${whoSettles}`,
    headers: ["Session", "Xid", "Prefer"],
    body: acceptBody,
    answers: { 200: ["What became of each.", accepted], 202: ["Stored as a command.", command] },
    problems: ["not-found", "session-fenced", "illegal-state", "resource-limit-exceeded"],
  },
  "deliveries/release": {
    summary: "Release deliveries",
    description: `Back to the original position. One that was delivered \`maxDeliveries\` times is dead-lettered instead, with the \`reason\` as its note. ${whoSettles} ${outsideBranches}`,
    headers: ["Session", "Prefer"],
    body: releaseBody,
    answers: { 200: ["What became of each.", released], 202: ["Stored as a command.", command] },
    problems: ["not-found", "session-fenced", "command-invalid"],
  },
  "deliveries/reject": {
    summary: "Reject deliveries",
    description: `To the dead-letter queue, or dropped. There the message says so in \`deadLetter\`, has lost its \`ttlSeconds\`, and its \`messageId\` stays. ${whoSettles} ${outsideBranches}`,
    headers: ["Session", "Prefer"],
    body: rejectBody,
    answers: { 200: ["What became of each.", rejected], 202: ["Stored as a command.", command] },
    problems: ["not-found", "session-fenced", "command-invalid"],
  },
  "deliveries/extend": {
    summary: "Extend leases",
    description: `A later deadline, counted from now; an earlier one changes nothing. ${whoSettles} ${outsideBranches}`,
    headers: ["Session"],
    body: extendBody,
    answers: { 200: ["What became of each.", extended] },
    problems: ["session-fenced", "command-invalid"],
  },
};
