/** Changes of a cluster, from the command line: join, leave, promote. */
import { CannotJoin, join } from "../../shared/commands/replica/join.ts";
import { CannotLeave, leaveCluster } from "../../shared/commands/replica/leave-cluster.ts";
import type { Place as MemberPlace } from "../../shared/commands/replica/members.ts";
import { CannotPromote, promote } from "../../shared/commands/replica/promote.ts";
import type { Configuration } from "../../shared/records/store.ts";
import { Failure } from "./failure.ts";
import type { Place } from "./place.ts";
import type { Tables } from "./tables.ts";

/** Brings the store at `replica` (`NAME[@WHERE]`) into the cluster of the one that is meant. */
export const joinReplica = (
  tables: Tables,
  own: Place,
  replica: string,
  replicaTimeoutSeconds: number | undefined,
): Promise<string> =>
  explained(async () => {
    const context = await tables.openWhole(own);
    const configuration = await join(context, tables.beside(own), {
      primary: memberPlaceOf(own),
      replica: memberPlaceFrom(replica),
      ...(replicaTimeoutSeconds !== undefined && { replicaTimeoutSeconds }),
    });
    return said(configuration, "joined");
  });

export const leaveAs = (tables: Tables, own: Place, storeId: string): Promise<string> =>
  explained(async () => {
    const context = await tables.openWhole(own);
    return said(await leaveCluster(context, tables.beside(own), storeId), "left");
  });

export const promoteStore = (tables: Tables, own: Place): Promise<string> =>
  explained(async () => {
    const context = await tables.openWhole(own);
    const { configuration, finished, wasPrimary } = await promote(context, memberPlaceOf(own));
    if (wasPrimary) return "the store is the primary of its cluster already\n";
    return `${said(configuration, "promoted")}${finished} commits were looked at, and are whole\n`;
  });

const explained = async (work: () => Promise<string>): Promise<string> => {
  try {
    return await work();
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
