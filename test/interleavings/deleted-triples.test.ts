import { testTriples } from "./proofs.ts";
import { deletedTriples } from "./scenarios/triples.ts";

testTriples("three at a time, deleting", deletedTriples);
