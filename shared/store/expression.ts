/** The one place where conditions and changes become DynamoDB expressions. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { Change, Item, Path, Term, Value } from "../records/write.ts";

const options = { removeUndefinedValues: true } as const;

export const toItem = (item: Item): Record<string, AttributeValue> => marshall(item, options);

const toValue = (value: Value): AttributeValue => marshall({ value }, options).value as AttributeValue;

/** Collects the names and values of one request; equal ones are named once. */
export class Placeholders {
  readonly #names = new Map<string, string>();
  readonly #values: AttributeValue[] = [];

  path(path: Path): string {
    return path.map((name) => this.#name(name)).join(".");
  }

  value(value: Value): string {
    return `:${this.#values.push(toValue(value)) - 1}`;
  }

  #name(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const placeholder = `#${this.#names.size}`;
    this.#names.set(name, placeholder);
    return placeholder;
  }

  /** The request's two maps; DynamoDB refuses empty ones. */
  get maps(): {
    ExpressionAttributeNames?: Record<string, string>;
    ExpressionAttributeValues?: Record<string, AttributeValue>;
  } {
    return {
      ...(this.#names.size > 0 && {
        ExpressionAttributeNames: Object.fromEntries(
          [...this.#names].map(([name, placeholder]) => [placeholder, name]),
        ),
      }),
      ...(this.#values.length > 0 && {
        ExpressionAttributeValues: Object.fromEntries(this.#values.map((value, i) => [`:${i}`, value])),
      }),
    };
  }
}

/** The condition of a write, or undefined when it requires nothing. */
export const conditionOf = (terms: readonly Term[], at: Placeholders): string | undefined =>
  terms.length === 0 ? undefined : terms.map((term) => termOf(term, at)).join(" AND ");

const termOf = (term: Term, at: Placeholders): string => {
  switch (term.is) {
    case "absent":
      return `attribute_not_exists(${at.path(["pk"])})`;
    case "present":
      return `attribute_exists(${at.path(["pk"])})`;
    case "version":
      return `${at.path(["v"])} = ${at.value(term.version)}`;
    case "equal":
      return `${at.path(term.path)} = ${at.value(term.value)}`;
    case "not-equal":
      return `${at.path(term.path)} <> ${at.value(term.value)}`;
    case "has":
      return `attribute_exists(${at.path(term.path)})`;
    case "lacks":
      return `attribute_not_exists(${at.path(term.path)})`;
    case "at-least":
      return `${at.path(term.path)} >= ${at.value(term.value)}`;
    case "more-than":
      return `${at.path(term.path)} > ${at.value(term.value)}`;
    case "at-most":
      return `${at.path(term.path)} <= ${at.value(term.value)}`;
    case "absent-or-over":
      return `(attribute_not_exists(${at.path(["pk"])}) OR ${at.path(["until"])} <= ${at.value(term.nowMs)})`;
    case "older":
      return `(attribute_not_exists(${at.path(["rv"])}) OR ${at.path(["rv"])} < ${at.value(term.stamp)})`;
  }
};

export const updateOf = (change: Change, at: Placeholders): string => {
  const set = [
    ...(change.set ?? []).map(([path, value]) => `${at.path(path)} = ${at.value(value)}`),
    ...(change.append ?? []).map(
      ([path, values]) => `${at.path(path)} = list_append(${at.path(path)}, ${at.value(values)})`,
    ),
  ];
  const add = (change.add ?? []).map(([path, by]) => `${at.path(path)} ${at.value(by)}`);
  const remove = (change.remove ?? []).map((path) => at.path(path));
  const clause = (word: string, parts: readonly string[]): string =>
    parts.length === 0 ? "" : `${word} ${parts.join(", ")}`;
  return [clause("SET", set), clause("ADD", add), clause("REMOVE", remove)].filter((part) => part !== "").join(" ");
};
