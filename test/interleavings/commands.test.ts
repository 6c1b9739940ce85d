import { testPairs } from "./proofs.ts";
import { commands } from "./scenarios/commands.ts";

testPairs("commands", commands);
