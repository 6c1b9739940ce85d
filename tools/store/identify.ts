import { statusDocument } from "../../shared/domain/store-document.ts";
import {
  changesSince,
  type Identified,
  type Incomparable,
  identify,
  standingState,
} from "../../shared/domain/store-status.ts";
import { readSources, type Source } from "./sources.ts";
import { textTable } from "./text-table.ts";

/** Says which store is the most up to date; the exit code: 0 that one, or several are equal; 2 not comparable. */
export const identifyStores = async (
  args: readonly string[],
  { isJson, env }: { readonly isJson: boolean; readonly env: NodeJS.ProcessEnv },
): Promise<number> => {
  const sources = await readSources(args, env);
  const found = identify(sources);
  process.stdout.write(isJson ? `${JSON.stringify(documentOf(sources, found), null, 2)}\n` : textOf(sources, found));
  return found.outcome === "not-comparable" ? 2 : 0;
};

const documentOf = (sources: readonly Source[], found: Identified): object => ({
  best: found.outcome === "not-comparable" ? null : found.best,
  ...(found.outcome === "equal" && { equal: found.equal }),
  ...(found.outcome === "not-comparable" && { because: found.because, groups: found.groups }),
  stores: sources.map(({ name, source, status }, i) => ({
    store: name,
    source,
    ...statusDocument(status),
    state: standingState(status),
    changesSince: changesSince(status)?.toString() ?? null,
    verdict: found.verdicts[i],
  })),
});

const textOf = (sources: readonly Source[], found: Identified): string => {
  const head = ["store", "state", "configChange", "counter", "at config change", "changes since", "verdict"];
  const rows = sources.map(({ name, status }, i) => [
    name,
    standingState(status),
    String(status.configChange ?? "-"),
    String(status.changeCounter),
    String(status.changeCounterAtConfigChange ?? "-"),
    String(changesSince(status) ?? "-"),
    found.verdicts[i] ?? "",
  ]);
  return `${textTable([head, ...rows])}\n${conclusionOf(found)}\n`;
};

const conclusionOf = (found: Identified): string => {
  switch (found.outcome) {
    case "best":
      return `The most up to date is ${found.best}.`;
    case "equal":
      return `Equal, any of them will do: ${found.equal.join(", ")}.`;
    case "not-comparable":
      return [
        `They cannot be compared: ${reasons[found.because]}. These belong together:`,
        ...found.groups.map((group) => `  ${group.join(", ")}`),
      ].join("\n");
  }
};

const reasons: Readonly<Record<Incomparable, string>> = {
  clusters: "they are of different clusters",
  split: "the same change of the cluster was made twice, so both sides went on alone",
  circle: "their configuration changes lie more than half of all numbers apart",
  "no-cluster": "none of them was ever in a cluster",
};
