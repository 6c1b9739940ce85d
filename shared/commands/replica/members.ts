import type { Member } from "../../domain/store-status.ts";
import { storeKey } from "../../records/keys.ts";
import type { Configuration } from "../../records/store.ts";
import type { WholeStore } from "../../store/port.ts";

/** Where a member's table is; what is left out is as the AWS settings say. */
export type Place = Pick<Member, "table" | "endpoint" | "region">;

/** Opens the table of a member. */
export type OpenStore = (place: Place) => WholeStore;

/** The replicas whose records a command waits for: one that is joining among them, so that it misses nothing that is told. */
export const waitedFor = (configuration: Configuration): readonly Member[] =>
  configuration.members.filter(({ role, state }) => role === "replica" && state !== "away");

/** The replicas of which the cluster's configuration is true. */
export const inSync = (configuration: Configuration): readonly Member[] =>
  configuration.members.filter(({ role, state }) => role === "replica" && state === "in-sync");

export const withMember = (members: readonly Member[], changed: Member): readonly Member[] => {
  const others = members.filter(({ storeId }) => storeId !== changed.storeId);
  return [...others, changed];
};

export const isReached = async (open: OpenStore, member: Member): Promise<boolean> => {
  try {
    await open(member).read(storeKey);
    return true;
  } catch {
    return false;
  }
};
