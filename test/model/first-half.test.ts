import { testHalf } from "./histories.ts";

testHalf(0);
