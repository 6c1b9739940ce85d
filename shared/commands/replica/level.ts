import type { WholeStore } from "../../store/port.ts";
import { readConfiguration } from "./change-configuration.ts";
import { copyAll } from "./copy.ts";
import { inSync, type OpenStore } from "./members.ts";

/** Brings to the replicas in sync what the feed has not brought yet, of a store that nobody uses any more. */
export const level = async (primary: WholeStore, open: OpenStore, without: readonly string[]): Promise<void> => {
  const configuration = await readConfiguration(primary);
  if (configuration?.role !== "primary") return;
  for (const member of inSync(configuration)) {
    if (!without.includes(member.storeId)) await copyAll(primary, open(member));
  }
};
