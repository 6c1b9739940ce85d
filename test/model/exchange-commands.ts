/** The calls on exchanges and their bindings. */
import fc from "fast-check";
import { expect } from "vitest";
import { expectOk } from "../support/moves.ts";
import type { BindingInput } from "../support/shapes.ts";
import { bindingKeys, exchange, later, process, steps } from "./command.ts";
import { send } from "./send.ts";
import type { Binding, Exchange, Ref } from "./values.ts";
import type { World } from "./world.ts";

const types = fc.constantFrom<Exchange["type"]>("direct", "fanout", "topic", "headers");
/** What a headers exchange looks for; the others keep it. */
const terms = fc.constantFrom<Binding["arguments"]>(
  {},
  { k: "v" },
  { k: "v", n: 1 },
  { k: null },
  { "x-match": "any", k: "v", n: 1 },
  { "x-match": "all", n: null },
);
/** Dead-letter queues are bound to none: a letter could not be told from a copy there. */
const bound = { queue: fc.nat(2), bindingKey: bindingKeys };

/** Exchanges of a run when it begins: each with none or a later one as its alternate. */
export const exchangesAtFirst = fc.tuple(
  fc.tuple(...[0, 1, 2].map(() => fc.record({ type: types, hasAlternate: fc.boolean() }))),
  fc.array(fc.record({ ...bound, exchange: fc.nat(3), arguments: terms }), { minLength: 2, maxLength: 8 }),
);

export const beginExchanges = async (
  w: World,
  [exchanges, bindings]: typeof exchangesAtFirst extends fc.Arbitrary<infer T> ? T : never,
): Promise<void> => {
  for (const [i, { type, hasAlternate }] of [...exchanges.entries()].reverse()) {
    await declareExchange(w, 0, w.exchanges[i] ?? "", type, hasAlternate ? (w.exchanges[i + 1] ?? null) : null);
  }
  for (const binding of bindings) await bindQueue(w, 0, binding);
};

export const declare = steps(
  "declare exchange",
  { at: process, exchange, type: types, alternate: fc.option(fc.nat(4), { freq: 2 }), later },
  async (w, p) => {
    const alternate = p.alternate === null ? null : (w.exchanges[p.alternate] ?? `${w.prefix}none`);
    await declareExchange(w, p.at, w.exchanges[p.exchange] ?? "", p.type, alternate, w.ref(p.later));
  },
);

const declareExchange = async (
  w: World,
  at: number,
  name: string,
  type: Exchange["type"],
  alternate: string | null,
  later?: Ref,
): Promise<void> => {
  await send(
    w,
    { at, later, said: `declare exchange ${name} ${type} ${alternate}`, touch: { exchange: name } },
    (c) => c.declareExchange(name, { type, alternateExchange: alternate }),
    (answer) => {
      const before = w.broker.exchanges.get(name);
      const isThere = alternate === null || w.broker.exchanges.has(alternate);
      const other = before !== undefined && before.alternate !== alternate ? "precondition-failed" : undefined;
      const refusal =
        before === undefined ? (isThere ? undefined : "not-found") : before.type === type ? other : "not-allowed";
      if (w.isRefused(answer, alternate === name ? "invalid-argument" : refusal)) return;
      if (answer !== undefined) {
        expect(answer.status).toBe(before === undefined ? 201 : 200);
        expect(answer.body).toEqual({ exchange: name, type, alternateExchange: alternate });
      }
      if (before === undefined) w.broker.exchanges.set(name, { type, alternate, bindings: [], unroutable: 0 });
    },
  );
};

export const remove = steps("delete exchange", { at: process, exchange, later }, async (w, p) => {
  await deleteExchange(w, w.exchanges[p.exchange] ?? "", p.at, w.ref(p.later));
});

const deleteExchange = async (w: World, name: string, at = 0, later?: Ref): Promise<void> => {
  await send(
    w,
    { at, later, said: `delete exchange ${name}`, touch: { exchange: name } },
    (c) => c.deleteExchange(name),
    (answer) => {
      const isAlternate = [...w.broker.exchanges.values()].some(({ alternate }) => alternate === name);
      const isKept = w.isStandard(name) || isAlternate;
      const isThere = w.broker.exchanges.has(name);
      if (w.isRefused(answer, isThere ? (isKept ? "not-allowed" : undefined) : "not-found")) return;
      if (answer !== undefined) expect(answer.status).toBe(204);
      w.broker.exchanges.delete(name);
    },
  );
};

/** Deletes all that the run declared, those that are nobody's alternate first. */
export const endExchanges = async (w: World): Promise<void> => {
  for (const _ of w.exchanges) {
    for (const name of w.exchanges) if (w.broker.exchanges.has(name)) await deleteExchange(w, name);
  }
  expect([...w.broker.exchanges.keys()].filter((name) => !w.isStandard(name))).toEqual([]);
};

export const look = steps("exchange", { at: process, exchange }, async (w, p) => {
  const name = w.exchanges[p.exchange] ?? "";
  const found = w.broker.exchanges.get(name);
  const answer = await w.client(p.at).getExchange(name);
  w.note(`exchange ${name}`, answer);
  if (w.isRefused(answer, found === undefined ? "not-found" : undefined) || found === undefined) return;
  const { type, alternate, unroutable } = found;
  // All runs count on the standard ones.
  const counted = w.isStandard(name) ? expect.any(String) : String(unroutable);
  expect(answer.body).toEqual({ exchange: name, type, alternateExchange: alternate, stats: { unroutable: counted } });
});

export const bind = steps("bind", { at: process, exchange, ...bound, arguments: terms, later }, async (w, p) => {
  await bindQueue(w, p.at, p, w.ref(p.later));
});

type Wanted = Pick<Binding, "bindingKey" | "arguments"> & { readonly exchange: number; readonly queue: number };

const bindQueue = async (w: World, at: number, { arguments: wanted, ...p }: Wanted, later?: Ref): Promise<void> => {
  const name = w.exchanges[p.exchange] ?? "";
  const queue = w.queues[p.queue] ?? "";
  const bindingKey = w.keyOn(name, p.bindingKey);
  const said = `bind ${queue} to ${name} ${JSON.stringify(bindingKey)} ${JSON.stringify(wanted)}`;
  await send(
    w,
    { at, later, said, touch: { exchange: name } },
    (c) => c.bind(name, { queue, bindingKey, arguments: wanted }),
    (answer) => {
      const [found, target] = [w.broker.exchanges.get(name), w.queue(queue)];
      const before = bindingsOf(w, name).find((b) => b.queue === target && b.bindingKey === bindingKey);
      const isOther = before !== undefined && JSON.stringify(before.arguments) !== JSON.stringify(wanted);
      const missing = found === undefined || target === undefined ? "not-found" : undefined;
      if (w.isRefused(answer, missing ?? (isOther ? "precondition-failed" : undefined))) return;
      if (found === undefined || target === undefined) return;
      if (answer !== undefined) {
        expect(answer.status).toBe(before === undefined ? 201 : 200);
        expect(answer.body).toEqual({ exchange: name, queue, bindingKey, arguments: wanted });
      }
      if (before === undefined) found.bindings = [...found.bindings, { queue: target, bindingKey, arguments: wanted }];
    },
  );
};

/** Those that bind a queue that is there. */
const bindingsOf = (w: World, name: string): readonly Binding[] =>
  w.broker.exchanges.get(name)?.bindings.filter(({ queue }) => queue.deletedAtMs === undefined) ?? [];

export const unbind = steps(
  "unbind",
  { at: process, exchange, ...bound, isAimed: fc.integer({ min: 0, max: 4 }).map((n) => n > 0), later },
  async (w, p) => {
    const name = w.exchanges[p.exchange] ?? "";
    const all = bindingsOf(w, name);
    const aim = p.isAimed ? all[p.queue % all.length] : undefined;
    const [queue, bindingKey] = aim
      ? [aim.queue.name, aim.bindingKey]
      : [w.queues[p.queue] ?? "", w.keyOn(name, p.bindingKey)];
    const said = `unbind ${queue} from ${name} ${JSON.stringify(bindingKey)}`;
    await send(
      w,
      { at: p.at, later: w.ref(p.later), said, touch: { exchange: name } },
      (c) => c.unbind(name, { queue, bindingKey }),
      (answer) => {
        const found = w.broker.exchanges.get(name);
        const before = bindingsOf(w, name).find((b) => b.queue.name === queue && b.bindingKey === bindingKey);
        if (w.isRefused(answer, before === undefined ? "not-found" : undefined) || found === undefined) return;
        if (answer !== undefined) expect(answer.status).toBe(204);
        found.bindings = found.bindings.filter((b) => b !== before);
      },
    );
  },
);

export const list = steps(
  "list bindings",
  { at: process, exchange, limit: fc.constantFrom(1, 2, 500) },
  async (w, p) => {
    const name = w.exchanges[p.exchange] ?? "";
    const told: BindingInput[] = [];
    for (let cursor: string | undefined; ; ) {
      const answer = await w.client(p.at).listBindings(name, { limit: p.limit, cursor });
      w.note(`list bindings ${name}`, answer);
      if (w.isRefused(answer, w.broker.exchanges.has(name) ? undefined : "not-found")) return;
      const page = expectOk(answer);
      expect(page.bindings.length).toBeLessThanOrEqual(p.limit);
      told.push(...page.bindings);
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    const mine = told.filter(({ bindingKey = "" }) => bindingKey.startsWith(w.keyOn(name, "")));
    const expected = bindingsOf(w, name).map(({ queue, ...binding }) => ({ queue: queue.name, ...binding }));
    expect(mine.toSorted(byKeyAndQueue)).toEqual(expected.toSorted(byKeyAndQueue));
  },
);

const byKeyAndQueue = (a: BindingInput, b: BindingInput): number =>
  `${a.bindingKey} ${a.queue}` < `${b.bindingKey} ${b.queue}` ? -1 : 1;
