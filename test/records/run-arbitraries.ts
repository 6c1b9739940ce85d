import fc from "fast-check";
import type { Hold, Payload, Run, RunKey, Slot } from "../../shared/domain/run.ts";
import { runOwner } from "../../shared/records/keys.ts";
import { epochs, names, sessionRefs, times, tokens, xids } from "../support/arbitraries.ts";

export const runKeys: fc.Arbitrary<RunKey> = fc.record({
  name: names,
  generation: tokens,
  partition: fc.nat(63),
  position: fc.nat(Number.MAX_SAFE_INTEGER),
});

const leases = fc.oneof(
  fc.record({ token: tokens, expiresAtMs: times }),
  fc.record({ token: tokens, expiresAtMs: times, session: sessionRefs }),
);

const deliveries = fc.nat(1000);

/** `incarnations`: who may hold a message. */
const slots = (incarnations: readonly string[]): fc.Arbitrary<Slot> =>
  fc.oneof(
    fc.record({
      state: fc.constant("available" as const),
      deliveries,
      visibleAtMs: fc.oneof(fc.constant(0), times),
    }),
    fc.record({ state: fc.constant("leased" as const), deliveries, lease: leases }),
    fc.record({ state: fc.constant("settled" as const) }),
    ...(incarnations.length === 0
      ? []
      : [
          fc.record({
            state: fc.constant("held" as const),
            deliveries,
            incarnation: fc.constantFrom(...incarnations),
          }),
        ]),
  );

const holds: fc.Arbitrary<Hold> = fc.record({
  xid: xids,
  deadlineMs: times,
  session: fc.record({ name: names, epoch: epochs }),
});

export const firsts = fc.array(fc.nat(99), { minLength: 1, maxLength: 10 }).map((all) => all.sort((a, b) => a - b));

export const payloads = (key: RunKey): fc.Arbitrary<Payload> =>
  fc.oneof(
    fc.record({ kind: fc.constant("inline" as const), bytes: fc.uint8Array({ maxLength: 200 }) }),
    fc.record({
      kind: fc.constant("chunks" as const),
      owner: fc.oneof(fc.constant(runOwner(key)), fc.string({ minLength: 1 })),
      firsts,
    }),
  );

/** As they are made: eight random characters, which name an attribute. */
const incarnations = fc.stringMatching(/^i[\w-]{7}$/);

const heldIncarnations = (all: readonly Slot[]): readonly string[] => [
  ...new Set(all.flatMap((slot) => (slot.state === "held" ? [slot.incarnation] : []))),
];

/** Runs in any state, up to the largest. Only holds that hold something are there, as the state machine leaves them. */
export const runs: fc.Arbitrary<Run> = fc
  .record({ key: runKeys, incarnations: fc.uniqueArray(incarnations, { maxLength: 3 }) })
  .chain(({ key, incarnations: holders }) =>
    fc.array(slots(holders), { minLength: 1, maxLength: 100, size: "medium" }).chain((all) =>
      fc.record({
        key: fc.constant(key),
        version: fc.nat(),
        createdAtMs: times,
        messageIdBase: tokens,
        slots: fc.constant(all),
        sizes: perMessage(all, fc.nat(1024 * 1024)),
        overheadBytes: fc.nat(100_000),
        expiries: perMessage(all, fc.oneof(fc.constant(0), times)),
        dropAtMs: fc.oneof(fc.constant(0), times),
        holds: fc.record(Object.fromEntries(heldIncarnations(all).map((name) => [name, holds]))),
        payload: payloads(key),
      }),
    ),
  );

const perMessage = (all: readonly Slot[], value: fc.Arbitrary<number>): fc.Arbitrary<number[]> =>
  fc.array(value, { minLength: all.length, maxLength: all.length });
