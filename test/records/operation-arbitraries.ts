import fc from "fast-check";
import type { Add, Operation, Remove } from "../../shared/domain/operation.ts";
import type { Payload } from "../../shared/domain/run.ts";
import { names, tokens } from "../support/arbitraries.ts";
import { firsts, runKeys } from "./run-arbitraries.ts";

const chunks = fc.record({ kind: fc.constant("chunks" as const), owner: fc.string({ minLength: 1 }), firsts });

const payloads: fc.Arbitrary<Payload> = fc.oneof(
  fc.record({ kind: fc.constant("inline" as const), bytes: fc.uint8Array({ maxLength: 200 }) }),
  chunks,
);

const deduplications: fc.Arbitrary<Add["deduplications"]> = fc.array(
  fc.oneof(fc.tuple(fc.nat(99), fc.string()), fc.tuple(fc.nat(99), fc.string(), fc.string())),
  { maxLength: 5 },
);

const adds: fc.Arbitrary<Add> = fc
  .array(fc.tuple(fc.nat(1024 * 1024), fc.oneof(fc.constant(0), fc.nat(315_360_000))), { minLength: 1, maxLength: 100 })
  .chain((messages) =>
    fc.record(
      {
        kind: fc.constant("add" as const),
        id: tokens,
        queue: names,
        generation: tokens,
        partition: fc.nat(63),
        sizes: fc.constant(messages.map(([size]) => size)),
        overheadBytes: fc.nat(100_000),
        messageIdBase: tokens,
        ttlSeconds: fc.constant(messages.map(([, ttl]) => ttl)),
        deduplications,
        payload: payloads,
        deadLetterQueue: names,
      },
      {
        requiredKeys: [
          ...(["kind", "id", "queue", "generation", "partition", "sizes", "overheadBytes"] as const),
          ...(["messageIdBase", "ttlSeconds", "deduplications", "payload"] as const),
        ],
      },
    ),
  );

const indexes = fc
  .uniqueArray(fc.nat(99), { minLength: 1, maxLength: 100 })
  .map((all) => all.sort((first, second) => first - second));

const removes: fc.Arbitrary<Remove> = fc.record(
  {
    kind: fc.constant("remove" as const),
    id: tokens,
    run: runKeys,
    indexes,
    bytes: fc.nat(100 * 1024 * 1024),
    isWhole: fc.boolean(),
    payload: chunks,
  },
  { requiredKeys: ["kind", "id", "run", "indexes", "bytes", "isWhole"] },
);

export const operations: fc.Arbitrary<Operation> = fc.oneof(adds, removes);
