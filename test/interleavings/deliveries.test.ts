import { testPairs } from "./proofs.ts";
import { deliveries } from "./scenarios/deliveries.ts";
import { purges } from "./scenarios/queues.ts";

testPairs("deliveries", [...deliveries, ...purges]);
