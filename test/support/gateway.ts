/** Requests to a gateway of this process, as they would come over HTTP. */
import { randomUUID } from "node:crypto";
import { type Gateway, replyTo } from "../../local/http/gateway.ts";
import type { Reply } from "../../local/http/reply.ts";
import type { Fetch, Response } from "./fetch.ts";

export const fetchThrough =
  (gateway: Gateway): Fetch =>
  async (path, { method = "GET", headers = {}, body, signal }) => {
    signal?.throwIfAborted();
    const incoming = {
      method,
      url: path,
      httpVersion: "1.1",
      headersDistinct: Object.fromEntries([...new Headers(headers)].map(([name, value]) => [name, [value]])),
      socket: { remoteAddress: "127.0.0.1" },
    };
    const bytes =
      typeof body === "string" || body instanceof Uint8Array ? Buffer.from(body as string) : Buffer.alloc(0);
    const answered = replyTo(gateway, incoming, async () => bytes, randomUUID());
    const reply = await (signal == null ? answered : Promise.race([answered, aborted(signal)]));
    return {
      status: reply.status,
      headers: headersOf(reply),
      text: async () => reply.body.toString(),
    } satisfies Response;
  };

const headersOf = ({ headers }: Reply): Headers => {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers)) for (const one of [value].flat()) all.append(name, String(one));
  return all;
};

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
