import { testPairs } from "./proofs.ts";
import { routing } from "./scenarios/routing.ts";

testPairs("routing", routing);
