import type { Configuration } from "../../records/store.ts";
import type { StoreContext } from "../store/counted.ts";
import { changeConfiguration, readConfiguration } from "./change-configuration.ts";
import type { OpenStore } from "./members.ts";

/** Why a store cannot leave; nothing was changed. */
export class CannotLeave extends Error {
  override readonly name = "CannotLeave";
}

/** Takes a replica, named by its id or its table, out of the cluster for good: nothing waits for it, and it loses to every store that stays. */
export const leaveCluster = async (context: StoreContext, open: OpenStore, name: string): Promise<Configuration> => {
  const configuration = await readConfiguration(context.store);
  if (configuration === null) throw new CannotLeave("the store is in no cluster");
  if (configuration.role !== "primary") throw new CannotLeave("only the cluster's primary changes who is in it");
  const [member, ...others] = configuration.members.filter((one) => one.storeId === name || one.table === name);
  if (member === undefined || others.length > 0) {
    const all = configuration.members.map((one) => `${one.storeId} (${one.table})`).join(", ");
    throw new CannotLeave(`${member === undefined ? "no member" : "more than one member"} is ${name}, of ${all}`);
  }
  if (member.role === "primary") throw new CannotLeave("the primary cannot leave: promote a replica instead");
  const members = configuration.members.filter((one) => one.storeId !== member.storeId);
  return changeConfiguration(context, open, configuration, members);
};
