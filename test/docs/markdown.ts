import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The text of a page; `path` from the repository's root. */
export const page = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

/** What stands under a heading of the second level, up to the next one. Throws when the page has no such heading. */
export function section(text: string, heading: string): string {
  const found = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`the page has no section "${heading}"`);
  return found;
}

/** A fenced block: the language behind its fence, and its lines. */
export interface Block {
  readonly language: string;
  readonly lines: readonly string[];
}

export const blocks = (text: string): readonly Block[] =>
  [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = "", body = ""]) => ({
    language,
    lines: body.trimEnd().split("\n"),
  }));

/** The rows of the tables, the heads among them, without the lines of dashes. */
export const codeRows = (text: string): readonly (readonly string[])[] =>
  text
    .split("\n")
    .filter((line) => /^\|.*\|$/.test(line) && !/^\|[-:| ]+\|$/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll("\\|", "|")),
    );

/** The same without code marks. */
export const tableRows = (text: string): readonly (readonly string[])[] =>
  codeRows(text).map((row) => row.map((cell) => cell.replaceAll("`", "")));
