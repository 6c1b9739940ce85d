/** A request that stops on its way, before one of its calls of the table, until the test lets it go on. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "../support/http.ts";
import type { InProcess } from "../support/in-process.ts";
import type { Held } from "./late.ts";

/** Within this, a call that follows from an answer has begun. */
const FOLLOWS_MS = 5;

export interface UnderWay extends Held {
  /** The call that it is held at, in words. */
  readonly what: string;
  /** Whether this is only what it had laid down beside, for a write that then did not come about, being taken away again. */
  madeItself(change: string): boolean;
  /** Lets it go on, and gives its answer. */
  goOn(): Promise<Answer<unknown>>;
}

/**
 * The calls that a request makes, sent now and held nowhere: the index of each, but of queries side by side, which go
 * through the shards of a list, only the first one's.
 */
export const callsOf = async (process: InProcess, send: () => Promise<unknown>): Promise<readonly number[]> => {
  const labels: string[] = [];
  process.onCall = async ({ index, operation, input }, next) => {
    labels[index] = `${operation} ${operation === "Query" ? JSON.stringify(input).replaceAll(/\d\d/g, "") : index}`;
    return next();
  };
  await send();
  process.onCall = undefined;
  return [...labels.keys()].filter((index) => labels[index] !== labels[index - 1]);
};

/** Sends a request and holds it before the call of that index; undefined when it made no such call and is over. */
export const underWay = async (
  process: InProcess,
  index: number,
  send: () => Promise<Answer<unknown>>,
): Promise<UnderWay | undefined> => {
  const answered: { readonly operation: string; readonly input: string }[] = [];
  const open = new Set<Promise<unknown>>();
  let goOn = () => {};
  const released = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let stands: (what: string) => void = () => {};
  const held = new Promise<string>((resolve) => {
    stands = resolve;
  });
  process.onCall = async (call, next) => {
    const input = JSON.stringify(call.input);
    if (call.index === index) {
      stands(`${call.operation} ${input}`);
      await released;
      return next();
    }
    const answer = next().then((output) => {
      answered.push({ operation: call.operation, input });
      return output;
    });
    open.add(answer);
    return answer.finally(() => open.delete(answer));
  };
  const sent = send();
  const what = await Promise.race([held, sent.then(() => undefined)]);
  if (what === undefined) {
    process.onCall = undefined;
    return undefined;
  }
  // Calls that go along with the one that is held, and those that follow from them.
  do {
    await Promise.allSettled(open);
    await sleep(FOLLOWS_MS);
  } while (open.size > 0);
  const read = [...answered];
  return {
    what,
    hadRead: (name) => read.some(({ input }) => input.includes(name)),
    hadWritten: read.some(({ operation, input }) => writing.includes(operation) && !isBeside(input)),
    madeItself: (change) => {
      const [, key = ""] = /^((?:PAYLOAD|TPL)#.*) is gone$/.exec(change) ?? [];
      const [pk = "", sk = ""] = key.split(" / ");
      return read.some(({ input }) => isBeside(input) && input.includes(pk) && input.includes(sk));
    },
    async goOn() {
      goOn();
      const answer = await sent;
      process.onCall = undefined;
      return answer;
    },
  };
};

const writing: readonly string[] = ["PutItem", "DeleteItem", "TransactWriteItems", "UpdateItem"];

/** Counters, bodies, and operations put aside: they are laid down before the one write that makes them count. */
const isBeside = (input: string): boolean =>
  /^\{"TableName":"[^"]*","(?:Item|Key)":.*"pk":\{"S":"(?:PAYLOAD|TAIL)#|"sk":\{"S":"OPS#/.test(input);
