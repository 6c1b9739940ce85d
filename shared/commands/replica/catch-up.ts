import type { WholeStore } from "../../store/port.ts";
import { readConfiguration } from "./change-configuration.ts";
import { copyAll } from "./copy.ts";
import { inSync, isReached, type OpenStore } from "./members.ts";

/**
 * Brings to the replicas in sync what the feed has not brought yet, in a cluster that nobody uses any more, asked at any of
 * its stores. Without the primary (`without`) there is nothing to bring; who cannot be reached is passed over.
 */
export const catchUp = async (store: WholeStore, open: OpenStore, without: readonly string[]): Promise<void> => {
  const configuration = await readConfiguration(store);
  const known = configuration?.members.find(({ role }) => role === "primary");
  if (configuration === null || known === undefined || without.includes(known.storeId)) return;
  const primary = configuration.role === "primary" ? store : open(known);
  for (const member of inSync(configuration)) {
    if (!without.includes(member.storeId) && (await isReached(open, member))) await copyAll(primary, open(member));
  }
};
