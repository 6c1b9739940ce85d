import { testPairs } from "./pairs.ts";
import { deleted } from "./scenarios/queues.ts";

testPairs("deletions", deleted);
