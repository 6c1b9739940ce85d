import { existsSync, globSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { page } from "./markdown.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const pages = globSync(["README.md", "docs/**/*.md", "{local,shared,test,bench,demo}/**/README.md"], { cwd: root });

it.each(pages)("%s links to nothing that is not there", (path) => {
  const links = [...page(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map(([, link = ""]) => link);
  for (const link of links) expect(existsSync(join(root, dirname(path), link)), `${path} → ${link}`).toBe(true);
});

it("docs/adr/README.md lists every decision by its title", () => {
  const decisions = globSync("docs/adr/[0-9]*.md", { cwd: root }).toSorted();
  const listed = [...page("docs/adr/README.md").matchAll(/^\| \[(\d{4})\]\((.+)\) \| (.+) \|$/gm)];
  expect(listed.map(([, , file]) => `docs/adr/${file}`)).toEqual(decisions);
  for (const [, number, file, title] of listed) {
    expect(page(`docs/adr/${file}`).split("\n")[0]).toBe(`# ${number}: ${title}`);
  }
});
