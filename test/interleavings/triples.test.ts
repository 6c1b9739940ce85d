import { testTriples } from "./proofs.ts";
import { triples } from "./scenarios/triples.ts";

testTriples("three at a time", triples);
