import { format } from "dependency-cruiser";
import { cruiseRepository } from "./cruise.ts";

// Holds every import to the matrix of .dependency-cruiser.mjs; exits with 1 and names each one that breaks it.
const { output, exitCode } = await format(await cruiseRepository(), { outputType: "err-long" });
console.log(output);
process.exitCode = exitCode === 0 ? 0 : 1;
