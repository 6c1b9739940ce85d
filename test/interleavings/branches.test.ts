import { testPairs } from "./proofs.ts";
import { deaths } from "./scenarios/deaths.ts";
import { ends } from "./scenarios/ends.ts";
import { recoveries } from "./scenarios/recoveries.ts";

testPairs("branches", [...ends, ...recoveries, ...deaths]);
