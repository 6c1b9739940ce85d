import type { IncomingMessage } from "node:http";

/** The whole body, or nothing as soon as it is known to be longer than `maxBytes`; no more than that is ever held. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      request.off("data", take);
      request.pause();
      resolve(undefined);
    };
    request.on("data", take);
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
    request.once("close", () => reject(new Error("the client went away")));
  });
}

/**
 * Lets the rest of a refused body pass by. A connection that is closed while the client still sends loses the
 * answer; one that sends on for ever is cut.
 */
export function drain(request: IncomingMessage, patienceMs: number): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(done, patienceMs);
    function done(): void {
      clearTimeout(timer);
      resolve();
    }
    request.once("end", done);
    request.once("close", done);
    request.on("error", done);
    request.resume();
  });
}
