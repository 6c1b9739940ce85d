/** Longer than everything that is stopped in order may take; what hangs past it goes down with the process. */
const patienceMs = 9_000;

/**
 * Runs `stop` once at the first SIGINT or SIGTERM, or when the returned function is called, and ends the
 * process: with code 0, or with 1 after having said why. Goes down at once when the process that started this one dies.
 */
export function onShutdown(stop: () => Promise<void>): (failure?: string) => void {
  let stopping = false;
  const shutDown = (failure?: string): void => {
    if (stopping) return;
    stopping = true;
    if (failure !== undefined) process.stderr.write(`cairn: ${failure}\n`);
    const code = failure === undefined ? 0 : 1;
    setTimeout(() => process.exit(code), patienceMs).unref();
    void stop().finally(() => process.exit(code));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => shutDown());
  endWithParent();
  return shutDown;
}

/** Whoever started this names itself in CAIRN_PARENT when its death, `kill -9` included, is to be this one's. */
function endWithParent(): void {
  const parent = Number(process.env.CAIRN_PARENT);
  if (process.ppid !== parent) return;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, 200).unref();
}
