import type { Member } from "../../domain/store-status.ts";
import type { WholeStore } from "../../store/port.ts";
import type { StoreContext } from "../store/counted.ts";
import { readConfiguration } from "./change-configuration.ts";
import { CannotJoin, join } from "./join.ts";
import type { OpenStore } from "./members.ts";

/** What became of one replica that was away. */
export interface Rejoined {
  readonly storeId: string;
  /** Why it did not; undefined when it is in the cluster again. */
  readonly problem: string | undefined;
}

/**
 * Lets the replicas that were given up join again, and those go on whose joining was cut off. One that still cannot be
 * reached stays away until the next time.
 */
export const rejoinAll = async (
  context: StoreContext & { readonly store: WholeStore },
  open: OpenStore,
): Promise<readonly Rejoined[]> => {
  const configuration = await readConfiguration(context.store);
  if (configuration === null || configuration.role !== "primary") return [];
  const primary = configuration.members.find(({ role }) => role === "primary");
  const out = configuration.members.filter(({ role, state }) => role === "replica" && state !== "in-sync");
  const rejoined: Rejoined[] = [];
  if (primary === undefined) return rejoined;
  for (const replica of out) rejoined.push(await rejoin(context, open, primary, replica));
  return rejoined;
};

const rejoin = async (
  context: StoreContext & { readonly store: WholeStore },
  open: OpenStore,
  primary: Member,
  replica: Member,
): Promise<Rejoined> => {
  const { storeId } = replica;
  const place = placeOf(replica);
  try {
    // Before commands wait for it: it may be as far away as before.
    await readConfiguration(open(place));
    await join(context, open, { primary: placeOf(primary), replica: place });
    return { storeId, problem: undefined };
  } catch (error) {
    if (error instanceof CannotJoin || (error instanceof Error && error.name === "Unavailable")) {
      return { storeId, problem: error.message };
    }
    throw error;
  }
};

const placeOf = ({ table, endpoint, region }: Member) => ({
  table,
  ...(endpoint !== undefined && { endpoint }),
  ...(region !== undefined && { region }),
});
