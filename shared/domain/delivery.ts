/** Delivery ids: what an acquire gives and a settle takes back. Opaque to callers; they name the message and the lease. */
import type { Message } from "./message.ts";
import { isName } from "./name.ts";
import type { Lease, RunKey } from "./run.ts";

export interface Delivery {
  readonly run: RunKey;
  readonly index: number;
  /** The lease's token. */
  readonly token: string;
}

/** A message as an acquire delivers it. */
export interface Delivered {
  readonly run: RunKey;
  readonly index: number;
  /** Of its queue: what its sequence is made with. */
  readonly partitions: number;
  readonly message: Message;
  readonly messageIdBase: string;
  /** Begun so far, this one included. */
  readonly deliveries: number;
  /** Undefined when it was removed on delivery. */
  readonly lease: Lease | undefined;
}

export const deliveryId = ({ run, index, token }: Delivery): string =>
  Buffer.from(`${run.partition}/${run.position}/${index}/${token}/${run.generation}/${run.name}`).toString("base64url");

const shape = /^(\d{1,3})\/(\d{1,16})\/(\d{1,2})\/([\w-]{1,32})\/([\w-]{1,32})\/(.+)$/;

/** The delivery, or undefined when the text is not an id that `deliveryId` made. */
export const parseDelivery = (id: string): Delivery | undefined => {
  if (!/^[\w-]+$/.test(id)) return undefined;
  const match = shape.exec(Buffer.from(id, "base64url").toString("utf8"));
  if (match === null) return undefined;
  const [, partition, position, index, token = "", generation = "", name = ""] = match;
  if (!isName(name) || !Number.isSafeInteger(Number(position))) return undefined;
  const run = { name, generation, partition: Number(partition), position: Number(position) };
  return { run, index: Number(index), token };
};
