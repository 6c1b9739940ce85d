import { testPairs } from "./pairs.ts";
import { deliveries } from "./scenarios/deliveries.ts";
import { purges } from "./scenarios/queues.ts";

testPairs("deliveries", [...deliveries, ...purges]);
