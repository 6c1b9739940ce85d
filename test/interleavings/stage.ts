/** The one stage of a file: a service in the test's own process, one process of it for the scenes and one for each operation. */
import type { InProcessService } from "../support/in-process.ts";
import { expectOk } from "../support/moves.ts";
import { unique } from "../support/names.ts";
import type { InSession, Stage } from "./scenario.ts";

const SESSION_SECONDS = 86_400;
/** More time than any scene lets pass. */
const LASTING_MS = 3_600_000;

const names = ["first", "second", "third"] as const;

/** A stage for so many operations. */
export const stageFor = async (service: InProcessService, operations: number): Promise<Stage> => {
  const observer = await service.process("observer");
  const processes = [];
  for (const name of names.slice(0, operations)) processes.push(await service.process(name));
  let lasting: (InSession & { readonly untilMs: number }) | undefined;
  return {
    client: observer.client,
    processes,
    wait: service.wait,
    runSchedule: () => observer.runSchedule(),
    drainQueue: () => service.queues.drain(service.tableName),
    async work(messages) {
      for (const message of messages) await observer.deliver([message]);
      await observer.runWorker();
    },
    async lastingSession() {
      if (lasting === undefined || lasting.untilMs < service.now() + LASTING_MS) {
        const session = unique("session");
        const { epoch } = expectOk(await observer.client.attach(session, SESSION_SECONDS), 201);
        lasting = { session, epoch, untilMs: service.now() + SESSION_SECONDS * 1000 };
      }
      const { session, epoch } = lasting;
      return { session, epoch };
    },
  };
};
