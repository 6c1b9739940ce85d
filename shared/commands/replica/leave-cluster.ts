import type { Configuration } from "../../records/store.ts";
import type { StoreContext } from "../store/counted.ts";
import { changeConfiguration, readConfiguration } from "./change-configuration.ts";
import type { OpenStore } from "./members.ts";

/** Why a store cannot leave; nothing was changed. */
export class CannotLeave extends Error {
  override readonly name = "CannotLeave";
}

/** Takes a replica out of the cluster for good: nothing waits for it, and it loses to every store that stays. */
export const leaveCluster = async (context: StoreContext, open: OpenStore, storeId: string): Promise<Configuration> => {
  const configuration = await readConfiguration(context.store);
  if (configuration === null) throw new CannotLeave("the store is in no cluster");
  if (configuration.role !== "primary") throw new CannotLeave("only the cluster's primary changes who is in it");
  const member = configuration.members.find((one) => one.storeId === storeId);
  if (member === undefined) throw new CannotLeave(`the cluster has no member ${storeId}`);
  if (member.role === "primary") throw new CannotLeave("the primary cannot leave: promote a replica instead");
  const members = configuration.members.filter((one) => one.storeId !== storeId);
  return changeConfiguration(context, open, configuration, members);
};
