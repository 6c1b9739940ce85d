/** Operations as they lie in a branch or a block: `j` a JSON text, `b` the inline bodies, `d` the queue's dead-letter queue. */
import type { Operation } from "../domain/operation.ts";
import { isMap, Unreadable } from "./reading.ts";
import { pack, packIndexes, unpack, unpackAny, unpackIndexes } from "./repeats.ts";
import type { Item, Value } from "./write.ts";

/** The tuple of an add: a, id, queue, generation, partition, count, sizes, overhead, message id base, ttls, dedups, owner?, firsts?. */
type AddTuple = [
  "a",
  string,
  string,
  string,
  number,
  number,
  string,
  number,
  string,
  string,
  [number, string, string?][],
  string?,
  string?,
];
/** The tuple of a remove: r, id, queue, generation, partition, position, indexes, bytes, whole, owner?, firsts?. */
type RemoveTuple = ["r", string, string, string, number, number, string, number, 0 | 1, string?, string?];

export const operationValue = (operation: Operation): Value => {
  if (operation.kind === "remove") {
    const { id, run, indexes, bytes, isWhole, payload } = operation;
    const tuple: RemoveTuple = [
      "r",
      id,
      run.name,
      run.generation,
      run.partition,
      run.position,
      packIndexes(indexes),
      bytes,
      isWhole ? 1 : 0,
      ...(payload === undefined ? ([] as const) : ([payload.owner, pack(payload.firsts)] as const)),
    ];
    return { j: JSON.stringify(tuple) };
  }
  const { id, queue, generation, partition, sizes, overheadBytes, messageIdBase, ttlSeconds, deduplications, payload } =
    operation;
  const ttls = ttlSeconds.every((ttl) => ttl === 0) ? "" : pack(ttlSeconds);
  const tuple: AddTuple = [
    "a",
    id,
    queue,
    generation,
    partition,
    sizes.length,
    pack(sizes),
    overheadBytes,
    messageIdBase,
    ttls,
    deduplications.map((entry) => [...entry]),
  ];
  const d = operation.deadLetterQueue;
  if (payload.kind === "inline") return { j: JSON.stringify(tuple), b: payload.bytes, ...(d !== undefined && { d }) };
  return { j: JSON.stringify([...tuple, payload.owner, pack(payload.firsts)]), ...(d !== undefined && { d }) };
};

/** What the operations add to their record, about. */
export const operationBytes = (values: readonly Value[]): number =>
  values.reduce<number>((sum, value) => {
    if (!isMap(value)) return sum;
    const json = typeof value.j === "string" ? Buffer.byteLength(value.j) : 0;
    const d = typeof value.d === "string" ? value.d.length + 2 : 0;
    return sum + json + d + (value.b instanceof Uint8Array ? value.b.length + 2 : 0) + 6;
  }, 0);

export const readOperation = (item: Item, value: Value): Operation => {
  try {
    if (!isMap(value) || typeof value.j !== "string") throw new Error("is not an operation");
    const tuple = JSON.parse(value.j) as AddTuple | RemoveTuple;
    return tuple[0] === "a" ? readAdd(tuple, value.b, value.d) : readRemove(tuple);
  } catch (error) {
    throw new Unreadable(item, `an operation is broken: ${error instanceof Error ? error.message : "?"}`);
  }
};

const readAdd = (tuple: AddTuple, bytes: Value | undefined, deadLetterQueue: Value | undefined): Operation => {
  const [
    ,
    id,
    queue,
    generation,
    partition,
    count,
    sizes,
    overheadBytes,
    messageIdBase,
    ttls,
    deduplications,
    owner,
    firsts,
  ] = tuple;
  const inline = bytes instanceof Uint8Array ? bytes : undefined;
  if (inline === undefined && (owner === undefined || firsts === undefined)) throw new Error("it has no payload");
  return {
    kind: "add",
    id,
    queue,
    generation,
    partition,
    sizes: unpack(sizes, count),
    overheadBytes,
    messageIdBase,
    ttlSeconds: ttls === "" ? new Array<number>(count).fill(0) : unpack(ttls, count),
    deduplications,
    payload:
      inline === undefined
        ? { kind: "chunks", owner: owner ?? "", firsts: unpackAny(firsts ?? "") }
        : { kind: "inline", bytes: inline },
    ...(typeof deadLetterQueue === "string" && { deadLetterQueue }),
  };
};

const readRemove = (tuple: RemoveTuple): Operation => {
  const [, id, name, generation, partition, position, indexes, bytes, whole, owner, firsts] = tuple;
  return {
    kind: "remove",
    id,
    run: { name, generation, partition, position },
    indexes: unpackIndexes(indexes),
    bytes,
    isWhole: whole === 1,
    ...(owner !== undefined && { payload: { kind: "chunks", owner, firsts: unpackAny(firsts ?? "") } }),
  };
};
