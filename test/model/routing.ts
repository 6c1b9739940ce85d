/** Whether a binding matches, in the words of AMQP 0-9-1, 3.1.3: nothing of the product's, and no faster than it must be. */
import type { Binding, Exchange, Headers } from "./values.ts";

export const matches = (type: Exchange["type"], binding: Binding, routingKey: string, headers: Headers): boolean => {
  if (type === "topic") return fits(wordsOf(binding.bindingKey), wordsOf(routingKey));
  if (type !== "headers") return type === "fanout" || binding.bindingKey === routingKey;
  const { "x-match": how, ...wanted } = binding.arguments;
  const isMet = (name: string) => name in headers && (wanted[name] === null || wanted[name] === headers[name]);
  return how === "any" ? Object.keys(wanted).some(isMet) : Object.keys(wanted).every(isMet);
};

const wordsOf = (key: string): readonly string[] => (key === "" ? [] : key.split("."));

/** `*` is one word, `#` is none or more. */
const fits = ([first, ...pattern]: readonly string[], words: readonly string[]): boolean => {
  const [word, ...rest] = words;
  if (first === "#") return fits(pattern, words) || (word !== undefined && fits(["#", ...pattern], rest));
  if (first === undefined || word === undefined) return first === word;
  return (first === "*" || first === word) && fits(pattern, rest);
};
