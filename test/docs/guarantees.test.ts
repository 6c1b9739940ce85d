import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { page } from "./markdown.ts";

const text = page("docs/guarantees.md");

/** A test that the page names: its file, linked, and its title as the file writes it. */
const named = [...text.matchAll(/^- \[([^\]]+)\]\(\.\.\/([^)]+)\): (.+)$/gm)].map(
  ([, file = "", link = "", title = ""]) => ({
    file,
    link,
    title,
  }),
);

describe("docs/guarantees.md", () => {
  it.each(named)("$file: $title", ({ file, link, title }) => {
    expect(link).toBe(file);
    expect(existsSync(fileURLToPath(new URL(`../../${file}`, import.meta.url))), file).toBe(true);
    const quoted = [`"${title}"`, `'${title}'`, `\`${title}\``];
    const source = page(file).replaceAll('\\"', '"');
    expect(
      quoted.some((one) => source.includes(one)),
      `${file} has no test named so`,
    ).toBe(true);
  });

  it("names tests for every guarantee, and each guarantee by its number", () => {
    const guarantees = text.split(/^### /m).slice(1);
    expect(guarantees.map((one) => Number.parseInt(one, 10))).toEqual(guarantees.map((_, i) => i + 1));
    for (const one of guarantees) expect(one.split(/^## /m)[0], one.split("\n")[0]).toMatch(/^- \[test\//m);
  });
});
