/** The calls on exchanges and their bindings. */
import fc from "fast-check";
import { expect } from "vitest";
import { expectOk } from "../support/moves.ts";
import type { BindingInput } from "../support/shapes.ts";
import { bindingKeys, exchange, process, steps } from "./command.ts";
import type { Binding, Exchange } from "./values.ts";
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
  { at: process, exchange, type: types, alternate: fc.option(fc.nat(4), { freq: 2 }) },
  async (w, p) => {
    const alternate = p.alternate === null ? null : (w.exchanges[p.alternate] ?? `${w.prefix}none`);
    await declareExchange(w, p.at, w.exchanges[p.exchange] ?? "", p.type, alternate);
  },
);

const declareExchange = async (
  w: World,
  at: number,
  name: string,
  type: Exchange["type"],
  alternate: string | null,
): Promise<void> => {
  const before = w.broker.exchanges.get(name);
  const answer = await w.client(at).declareExchange(name, { type, alternateExchange: alternate });
  w.note(`declare exchange ${name} ${type} ${alternate}`, answer);
  const isThere = alternate === null || w.broker.exchanges.has(alternate);
  const other = before !== undefined && before.alternate !== alternate ? "precondition-failed" : undefined;
  const refusal =
    before === undefined ? (isThere ? undefined : "not-found") : before.type === type ? other : "not-allowed";
  if (w.isRefused(answer, alternate === name ? "invalid-argument" : refusal)) return;
  expect(answer.status).toBe(before === undefined ? 201 : 200);
  expect(answer.body).toEqual({ exchange: name, type, alternateExchange: alternate });
  if (before === undefined) w.broker.exchanges.set(name, { type, alternate, bindings: [], unroutable: 0 });
};

export const remove = steps("delete exchange", { at: process, exchange }, async (w, p) => {
  await deleteExchange(w, w.exchanges[p.exchange] ?? "", p.at);
});

const deleteExchange = async (w: World, name: string, at = 0): Promise<void> => {
  const isAlternate = [...w.broker.exchanges.values()].some(({ alternate }) => alternate === name);
  const answer = await w.client(at).deleteExchange(name);
  w.note(`delete exchange ${name}`, answer);
  const isKept = w.isStandard(name) || isAlternate;
  const isThere = w.broker.exchanges.has(name);
  if (w.isRefused(answer, isThere ? (isKept ? "not-allowed" : undefined) : "not-found")) return;
  expect(answer.status).toBe(204);
  w.broker.exchanges.delete(name);
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

export const bind = steps("bind", { at: process, exchange, ...bound, arguments: terms }, async (w, p) => {
  await bindQueue(w, p.at, p);
});

type Wanted = Pick<Binding, "bindingKey" | "arguments"> & { readonly exchange: number; readonly queue: number };

const bindQueue = async (w: World, at: number, { arguments: wanted, ...p }: Wanted): Promise<void> => {
  const name = w.exchanges[p.exchange] ?? "";
  const queue = w.queues[p.queue] ?? "";
  const bindingKey = w.keyOn(name, p.bindingKey);
  const [found, target] = [w.broker.exchanges.get(name), w.queue(queue)];
  const before = bindingsOf(w, name).find((b) => b.queue === target && b.bindingKey === bindingKey);
  const answer = await w.client(at).bind(name, { queue, bindingKey, arguments: wanted });
  w.note(`bind ${queue} to ${name} ${JSON.stringify(bindingKey)} ${JSON.stringify(wanted)}`, answer);
  const isOther = before !== undefined && JSON.stringify(before.arguments) !== JSON.stringify(wanted);
  const missing = found === undefined || target === undefined ? "not-found" : undefined;
  if (w.isRefused(answer, missing ?? (isOther ? "precondition-failed" : undefined))) return;
  if (found === undefined || target === undefined) return;
  expect(answer.status).toBe(before === undefined ? 201 : 200);
  expect(answer.body).toEqual({ exchange: name, queue, bindingKey, arguments: wanted });
  if (before === undefined) found.bindings = [...found.bindings, { queue: target, bindingKey, arguments: wanted }];
};

/** Those that bind a queue that is there. */
const bindingsOf = (w: World, name: string): readonly Binding[] =>
  w.broker.exchanges.get(name)?.bindings.filter(({ queue }) => queue.deletedAtMs === undefined) ?? [];

export const unbind = steps(
  "unbind",
  { at: process, exchange, ...bound, isAimed: fc.integer({ min: 0, max: 4 }).map((n) => n > 0) },
  async (w, p) => {
    const name = w.exchanges[p.exchange] ?? "";
    const found = w.broker.exchanges.get(name);
    const all = bindingsOf(w, name);
    const aim = p.isAimed ? all[p.queue % all.length] : undefined;
    const [queue, bindingKey] = aim
      ? [aim.queue.name, aim.bindingKey]
      : [w.queues[p.queue] ?? "", w.keyOn(name, p.bindingKey)];
    const before = all.find((b) => b.queue.name === queue && b.bindingKey === bindingKey);
    const answer = await w.client(p.at).unbind(name, { queue, bindingKey });
    w.note(`unbind ${queue} from ${name} ${JSON.stringify(bindingKey)}`, answer);
    if (w.isRefused(answer, before === undefined ? "not-found" : undefined) || found === undefined) return;
    expect(answer.status).toBe(204);
    found.bindings = found.bindings.filter((b) => b !== before);
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
