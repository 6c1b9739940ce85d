/** The exit code of what Ctrl-C has ended. */
const INTERRUPTED = 130;

/** Stops what was started before Ctrl-C ends this process; the returned function stops it too, at most once in all. */
export const stopOnInterrupt = (stop: () => Promise<void>): (() => Promise<void>) => {
  let stopping: Promise<void> | undefined;
  const once = (): Promise<void> => {
    stopping ??= stop();
    return stopping;
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void once().finally(() => process.exit(INTERRUPTED)));
  }
  return once;
};
