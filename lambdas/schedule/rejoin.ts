import { rejoinAll } from "../../shared/commands/replica/rejoin.ts";
import { openCall, openCluster } from "../../shared/config.ts";
import { scheduled } from "../../shared/edge/scheduled.ts";

/** Replicas that were given up join again when they can be reached. */
export const handler = scheduled(openCall, async () => {
  const { context, open } = openCluster();
  for (const { storeId, problem } of await rejoinAll(context, open)) {
    console.log(problem === undefined ? `${storeId} joined again` : `${storeId} is still away: ${problem}`);
  }
});
