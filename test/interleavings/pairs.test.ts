import { describe, test } from "vitest";
import { useInProcessService } from "../support/in-process.ts";
import { provePair } from "./prove.ts";
import { deaths } from "./scenarios/deaths.ts";
import { deliveries } from "./scenarios/deliveries.ts";
import { ends } from "./scenarios/ends.ts";
import { queues } from "./scenarios/queues.ts";
import { recoveries } from "./scenarios/recoveries.ts";
import { stageFor } from "./stage.ts";

const service = useInProcessService();
const all = { ends, deaths, deliveries, queues, recoveries };
describe.for(Object.entries(all))("%s", ([, scenarios]) => {
  test.for([...scenarios])("$name", { timeout: 600_000 }, async (scenario) => {
    const stage = await stageFor(service, 2);
    const began = performance.now();
    const proof = await provePair(stage, scenario, Number(process.env.MOST ?? 400), 1);
    console.log(
      "PAIR",
      scenario.name,
      JSON.stringify(proof),
      Math.round((performance.now() - began) / proof.schedules),
    );
  });
});
