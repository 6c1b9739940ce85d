import type { InProcess, InProcessService } from "./in-process.ts";

/** Two processes of a service, with nothing in memory. */
export const twoProcesses = async (service: InProcessService): Promise<readonly [InProcess, InProcess]> => {
  const [one, two] = [await service.process("one"), await service.process("two")];
  await Promise.all([one.restart(), two.restart()]);
  return [one, two];
};
