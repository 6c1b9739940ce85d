/** The capacity that one call consumed, as the table reported it: the product's cost receipt. */
import type { ConsumedCapacity } from "@aws-sdk/client-dynamodb";

/** Write and read request units, with the halves that transactions and eventual reads bring. */
export class Receipt {
  #wru = 0;
  #rru = 0;

  wrote(consumed: ConsumedCapacity | readonly ConsumedCapacity[] | undefined): void {
    this.#wru += unitsOf(consumed);
  }

  read(consumed: ConsumedCapacity | readonly ConsumedCapacity[] | undefined): void {
    this.#rru += unitsOf(consumed);
  }

  get wru(): number {
    return this.#wru;
  }

  get rru(): number {
    return this.#rru;
  }
}

const unitsOf = (consumed: ConsumedCapacity | readonly ConsumedCapacity[] | undefined): number =>
  [consumed ?? []].flat().reduce((sum, one) => sum + (one.CapacityUnits ?? 0), 0);
