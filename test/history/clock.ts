/**
 * Loaded into the service's process before anything else (`NODE_OPTIONS=--import`): its clock is off by the milliseconds
 * that a file says, read again ten times a second. The product knows nothing of it.
 */
import { readFileSync } from "node:fs";

const file = process.env.TEST_CLOCK_FILE;
if (file !== undefined) {
  const trueNow = Date.now;
  let offMs = 0;
  const read = (): void => {
    const ms = Number(readFileSync(file, "utf8"));
    if (Number.isFinite(ms)) offMs = ms;
  };
  read();
  setInterval(read, 100).unref();
  Date.now = () => trueNow() + offMs;
}
