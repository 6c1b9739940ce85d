import { existsSync, globSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { page, tableRows } from "./markdown.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const pages = globSync(["README.md", "docs/**/*.md", "{local,shared,test,bench,demo}/**/README.md"], { cwd: root });

it.each(pages)("%s links to nothing that is not there", (path) => {
  const links = [...page(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map(([, link = ""]) => link);
  for (const link of links) expect(existsSync(join(root, dirname(path), link)), `${path} → ${link}`).toBe(true);
});

it("docs/adr/README.md lists every decision by its title", () => {
  const decisions = globSync("docs/adr/[0-9]*.md", { cwd: root }).toSorted();
  const listed = tableRows(page("docs/adr/README.md")).slice(1);
  for (const [link = "", title = ""] of listed) {
    const [, number, file] = /^\[(\d{4})\]\((.+)\)$/.exec(link) ?? [];
    expect(page(`docs/adr/${file}`).split("\n")[0]?.replaceAll("`", "")).toBe(`# ${number}: ${title}`);
  }
  expect(listed.map(([link = ""]) => `docs/adr/${link.slice(7, -1)}`)).toEqual(decisions);
});
