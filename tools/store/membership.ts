/** Changes of a cluster, from the command line: join, leave, promote. */
import { CannotJoin, join } from "../../shared/commands/replica/join.ts";
import { CannotLeave, leaveCluster } from "../../shared/commands/replica/leave-cluster.ts";
import type { Place as MemberPlace } from "../../shared/commands/replica/members.ts";
import { CannotPromote, promote } from "../../shared/commands/replica/promote.ts";
import { storeKey } from "../../shared/records/keys.ts";
import type { Configuration } from "../../shared/records/store.ts";
import { Failure } from "./failure.ts";
import { onTable } from "./on-table.ts";
import type { Place, PlaceWanted } from "./place.ts";
import { reading } from "./reading.ts";

/** Brings the store at `replica` (`NAME[@WHERE]`) into the cluster of the one that is meant. */
export const joinReplica = (
  wanted: PlaceWanted,
  env: NodeJS.ProcessEnv,
  { replica, timeoutSeconds }: { readonly replica: string; readonly timeoutSeconds: number | undefined },
): Promise<number> =>
  onTable(wanted, env, (context, own, tables) =>
    explained(async () => {
      const open = tables.beside(own);
      const place = memberPlaceFrom(replica);
      await reading(`table ${place.table}`, () => open(place).read(storeKey));
      const configuration = await join(context, open, {
        primary: memberPlaceOf(own),
        replica: place,
        ...(timeoutSeconds !== undefined && { replicaTimeoutSeconds: timeoutSeconds }),
      });
      return said(configuration, "joined");
    }),
  );

/** Takes the replica with this id out of the cluster. */
export const leaveAs = (wanted: PlaceWanted, env: NodeJS.ProcessEnv, storeId: string): Promise<number> =>
  onTable(wanted, env, (context, own, tables) =>
    explained(async () => said(await leaveCluster(context, tables.beside(own), storeId), "left")),
  );

/** Makes the replica in the table that is meant the primary. */
export const promoteStore = (wanted: PlaceWanted, env: NodeJS.ProcessEnv, incomplete: boolean): Promise<number> =>
  onTable(wanted, env, (context, own) =>
    explained(async () => {
      const { configuration, finished, wasPrimary } = await promote(context, memberPlaceOf(own), { incomplete });
      if (wasPrimary) return "the store is the primary of its cluster already\n";
      return `${said(configuration, "promoted")}${finished} commits were looked at, and are whole\n`;
    }),
  );

const explained = async (work: () => Promise<string>): Promise<number> => {
  try {
    process.stdout.write(await work());
    return 0;
  } catch (error) {
    if (error instanceof CannotJoin || error instanceof CannotLeave || error instanceof CannotPromote) {
      throw new Failure([error.message]);
    }
    throw error;
  }
};

const said = ({ clusterId, configChange, changeCounter, members }: Configuration, what: string): string =>
  [
    `${what}: cluster ${clusterId}, configChange ${configChange} at ${changeCounter}`,
    ...members.map(({ storeId, role, state, table }) => `${storeId}  ${table}  ${role}  ${state}`),
    "",
  ].join("\n");

/** As its cluster's records name it: a local engine has another port at each start, and AWS is found by its region. */
const memberPlaceOf = ({ table, at }: Place): MemberPlace =>
  "local" in at || at.region === undefined ? { table } : { table, region: at.region };

const memberPlaceFrom = (text: string): MemberPlace => {
  const [table = "", ...rest] = text.split("@");
  const where = rest.join("@");
  if (where === "") return { table };
  return /^https?:/.test(where) ? { table, endpoint: where } : { table, region: where };
};
