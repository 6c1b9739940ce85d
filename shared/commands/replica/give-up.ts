import type { Member } from "../../domain/store-status.ts";
import { changesKey, storeKey } from "../../records/keys.ts";
import { type Configuration, readStore, setConfiguration } from "../../records/store.ts";
import { Unavailable } from "../../store/port.ts";
import type { StoreContext } from "../store/counted.ts";
import { changeConfiguration, Overtaken, readConfiguration } from "./change-configuration.ts";
import { inSync, isReached, type OpenStore, withMember } from "./members.ts";

const ROUNDS = 5;

/**
 * The cluster goes on without a replica that stays away: a change of its configuration, which every other replica has before
 * a command completes without that one. One that was only joining is put off, which changes no membership. Another replica
 * that cannot be reached either is given up with it. Throws `Unavailable` when the replica was promoted: then this store
 * is the one that is out of date.
 */
export const giveUp = async (context: StoreContext, open: OpenStore, storeId: string): Promise<void> => {
  for (let round = 1; ; round++) {
    try {
      return await giveUpOnce(context, open, storeId);
    } catch (error) {
      // Many calls find out at once that it is away: one of them is first.
      if (!(error instanceof Overtaken) || round === ROUNDS) throw error;
    }
  }
};

const giveUpOnce = async (context: StoreContext, open: OpenStore, storeId: string): Promise<void> => {
  const configuration = await readConfiguration(context.store);
  const member = configuration?.members.find((one) => one.storeId === storeId);
  if (configuration === null || member === undefined || member.state === "away") return;
  await mustNotBePromoted(open, configuration, member);
  const away = withMember(configuration.members, { ...member, state: "away" });
  if (member.state === "joining") {
    await context.store.commit([setConfiguration(configuration, { ...configuration, members: away })]);
    return;
  }
  const others = inSync({ ...configuration, members: away });
  const reached = await Promise.all(others.map((other) => isReached(open, other)));
  const members = others.reduce(
    (all, other, i) => (reached[i] === true ? all : withMember(all, { ...other, state: "away" })),
    away,
  );
  await changeConfiguration(context, open, configuration, members);
};

const mustNotBePromoted = async (open: OpenStore, { clusterId }: Configuration, member: Member): Promise<void> => {
  const [own, counted] = await open(member)
    .readAll([storeKey, changesKey("00")])
    .catch(() => []);
  const known = own === undefined ? null : readStore(own).configuration;
  // The fence comes first: while it is being promoted nothing is applied to it, and this store must not go on alone.
  const isPromoted = known?.role === "primary" || counted?.fenced === true;
  if (known?.clusterId === clusterId && isPromoted && member.state === "in-sync") {
    throw new Unavailable(`${member.storeId} was promoted: this store is not the cluster's primary any more`);
  }
};
