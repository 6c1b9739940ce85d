/** Enqueue and publish, at once and in a branch, with deduplication ids and idempotency keys. */
import { branch, exchange, isBlind, onBranch, queue, rarely, routingKeys, someone, steps, worker } from "./command.ts";
import { type Putting, putMessages, putting } from "./put-messages.ts";
import { touchOf } from "./queue-commands.ts";
import type { World } from "./world.ts";

export const enqueue = steps("enqueue", { ...putting, queue, who: someone }, (w, p) =>
  enqueueMessages(w, { ...p, xid: undefined }),
);

export const enqueueInBranch = steps(
  "enqueue in branch",
  { ...putting, queue, who: worker, branch, isBlind },
  (w, p) => enqueueMessages(w, { ...p, xid: w.xids[p.branch] }),
  onBranch,
);

type Call = Pick<Putting, "at" | "who" | "xid" | "drafts" | "key" | "isAgain" | "isLater">;

const enqueueMessages = async (w: World, p: Call & { readonly queue: number }): Promise<void> => {
  const name = w.queues[p.queue] ?? "";
  await w.lookForLetters(name);
  await putMessages(w, {
    ...p,
    word: `enqueue ${name}`,
    path: `/queues/${name}/messages`,
    body: {},
    isMandatory: false,
    touch: touchOf(name),
    missing: () => (w.queue(name) === undefined ? "not-found" : undefined),
    routeOf: () => [w.queue(name) ?? []].flat(),
    whenLost: () => {},
  });
};

const publishing = { ...putting, exchange, routingKey: routingKeys, mandatory: rarely };

export const publish = steps("publish", { ...publishing, who: someone }, (w, p) =>
  publishMessages(w, { ...p, xid: undefined }),
);

export const publishInBranch = steps(
  "publish in branch",
  { ...publishing, who: worker, branch, isBlind },
  (w, p) => publishMessages(w, { ...p, xid: w.xids[p.branch] }),
  onBranch,
);

interface Publishing extends Call {
  readonly exchange: number;
  readonly routingKey: string;
  readonly mandatory: boolean;
}

const publishMessages = async (w: World, p: Publishing): Promise<void> => {
  const name = w.exchanges[p.exchange] ?? "";
  const routingKey = w.keyOn(name, p.routingKey);
  await putMessages(w, {
    ...p,
    word: `publish ${name} ${JSON.stringify(routingKey)}${p.mandatory ? " mandatory" : ""}`,
    path: `/exchanges/${name}/messages`,
    body: { routingKey, mandatory: p.mandatory },
    isMandatory: p.mandatory,
    touch: { exchange: name },
    missing: () => (w.broker.exchanges.has(name) ? undefined : "not-found"),
    routeOf: (headers) => w.broker.route(name, routingKey, headers),
    whenLost: (count) => {
      const found = w.broker.exchanges.get(name);
      if (found !== undefined) found.unroutable += count;
    },
  });
};
