/** Numbers for values: equal values have equal numbers, and the value of a number is always the same object. */
import type { RecordName, World } from "./table.ts";

export class Interner<T> {
  readonly #values: T[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #byObject = new WeakMap<object, number>();

  of(value: T): number {
    const known = typeof value === "object" && value !== null ? this.#byObject.get(value) : undefined;
    if (known !== undefined) return known;
    const text = JSON.stringify(value) ?? "";
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#values.length;
      this.#numbers.set(text, number);
      this.#values.push(value);
      if (typeof value === "object" && value !== null) this.#byObject.set(value, number);
    }
    return number;
  }

  at(number: number): T {
    if (number >= this.#values.length) throw new Error(`nothing has number ${number}`);
    return this.#values[number] as T;
  }

  get size(): number {
    return this.#values.length;
  }
}

const parts = ["S1", "S2", "X", "Y", "M", "over", "past"] as const satisfies readonly (RecordName | "over" | "past")[];

/** The same for worlds, part by part: a part that two worlds share is one object. */
export class WorldInterner {
  readonly #parts = new Interner<World[(typeof parts)[number]]>();
  readonly #worlds: World[] = [];
  readonly #numbers = new Map<string, number>();

  of(world: World): number {
    const numbers = parts.map((name) => this.#parts.of(world[name]));
    const text = numbers.join();
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#worlds.length;
    this.#numbers.set(text, number);
    this.#worlds.push(
      Object.fromEntries(parts.map((name, i) => [name, this.#parts.at(numbers[i] ?? 0)])) as unknown as World,
    );
    return number;
  }

  at(number: number): World {
    const world = this.#worlds[number];
    if (world === undefined) throw new Error(`no world has number ${number}`);
    return world;
  }

  get size(): number {
    return this.#worlds.length;
  }
}
