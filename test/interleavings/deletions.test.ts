import { testPairs } from "./proofs.ts";
import { deleted } from "./scenarios/queues.ts";

testPairs("deletions", deleted);
