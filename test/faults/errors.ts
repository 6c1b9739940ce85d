/** What the SDK's client throws, as the service or the network would have made it throw. */
import {
  InternalServerError,
  ProvisionedThroughputExceededException,
  ThrottlingException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from "@aws-sdk/client-dynamodb";

/** A number from 0 up to 1, by the run's seed. */
export type Random = () => number;

const refused = { httpStatusCode: 400 };

const oneOf = <T>(random: Random, all: readonly [T, ...T[]]): T => all[Math.floor(random() * all.length)] ?? all[0];

/** No answer came: the connection was cut, or the answer was waited for in vain. */
export const lost = (random: Random): Error =>
  oneOf<() => Error>(random, [
    () => Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }),
    () => Object.assign(new Error("the answer is late"), { name: "TimeoutError" }),
  ])();

export const throttled = (random: Random, operation: string): Error =>
  operation.startsWith("Send") ? throttledByQueue(random) : throttledByTable(random);

const throttledByQueue = (random: Random): Error =>
  Object.assign(new Error("Rate exceeded"), {
    name: oneOf(random, ["RequestThrottled", "ThrottlingException"]),
    $fault: "client",
    $metadata: { httpStatusCode: 403 },
  });

const throttledByTable = (random: Random): Error =>
  oneOf<() => Error>(random, [
    () =>
      new ProvisionedThroughputExceededException({
        message: "The level of configured provisioned throughput for the table was exceeded",
        $metadata: refused,
      }),
    () => new ThrottlingException({ message: "Rate exceeded", $metadata: refused }),
  ])();

export const failed = (): Error =>
  new InternalServerError({ message: "Internal server error", $metadata: { httpStatusCode: 500 } });

/** A transaction on the same item is under way; of a transaction, on one of its items. */
export const conflicting = (random: Random, operation: string, input: object): Error => {
  const items = (input as { readonly TransactItems?: readonly unknown[] }).TransactItems;
  if (operation !== "TransactWriteItems" || items === undefined) {
    return new TransactionConflictException({ message: "Transaction is ongoing for the item", $metadata: refused });
  }
  const met = Math.floor(random() * items.length);
  return new TransactionCanceledException({
    message: "Transaction cancelled, please refer cancellation reasons for specific reasons",
    CancellationReasons: items.map((_, i) => ({ Code: i === met ? "TransactionConflict" : "None" })),
    $metadata: refused,
  });
};

/** The transaction of this token is not over yet. */
export const inProgress = (): Error =>
  new TransactionInProgressException({ Message: "The transaction is in progress", message: "", $metadata: refused });
