/** What the document says of the store. */
import { storeStatus } from "./answers.ts";
import type { Operations } from "./operation.ts";

export const storeOperations: Operations = {
  "store/status": {
    summary: "What the store says of itself",
    description:
      "What does not apply is null: what speaks of a cluster where there is none (`role` is `primary` there, `members` empty), what speaks of an orderly shutdown before one. `changeCounter`, an unsigned 64-bit integer, goes up by one for each enqueue and each dequeue of a message on a queue (a dead letter is both) and wraps to 0; it never goes back, and may run ahead by attempts that came to nothing. `state` is `clean` while the counter is still that of the shutdown, `empty` when no queue was ever declared and there is no cluster, else `dirty`. Which of several stores is the most up to date: `npm run cairn -- store identify`.",
    answers: { 200: ["The status.", storeStatus] },
  },
};
