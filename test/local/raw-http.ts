import { request } from "node:http";
import { connect } from "node:net";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
}

export interface Exchange {
  readonly method?: string;
  /** Sent as it is, nothing encoded or resolved. */
  readonly path?: string;
  /** Names and values in turn, repeated ones allowed. */
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  /** Instead of all others: these bytes. */
  readonly raw?: string;
}

/** One request of which every byte is the test's own choice. */
export function exchange(port: number, wanted: Exchange): Promise<Answer> {
  const body = Buffer.from(wanted.body ?? "");
  const headers = wanted.headers ?? [];
  const named = headers.some((text) => text === "Host");
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
  const head = [
    `${wanted.method ?? "GET"} ${wanted.path} HTTP/1.1`,
    ...(named ? [] : [`Host: 127.0.0.1:${port}`]),
    ...lines,
    ...(body.length > 0 ? [`Content-Length: ${body.length}`] : []),
    "Connection: close",
  ];
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(wanted.raw ?? `${head.join("\r\n")}\r\n\r\n`);
      if (body.length > 0) socket.write(body);
    });
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(parse(Buffer.concat(chunks))));
  });
}

function parse(bytes: Buffer): Answer {
  const end = bytes.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = bytes.subarray(0, end).toString().split("\r\n");
  const headers: Record<string, string | string[]> = {};
  for (const line of lines) {
    const [name = "", value = ""] = line.split(/: (.*)/);
    if (name.toLowerCase() === "set-cookie") headers["set-cookie"] = [...(headers["set-cookie"] ?? []), value];
    else headers[name.toLowerCase()] = value;
  }
  const content = bytes.subarray(end + 4);
  return { status: Number(statusLine.split(" ")[1]), headers, bytes: content, text: content.toString() };
}

/** Sends a body of `bytes` until it is sent or refused; tells how much the other side had taken by then. */
export function flood(
  port: number,
  path: string,
  bytes: number,
  announced: boolean,
): Promise<{ readonly answer: Answer; readonly sentBytes: number }> {
  const chunk = Buffer.alloc(64 * 1024, "x");
  return new Promise((resolve, reject) => {
    let sentBytes = 0;
    let answered = false;
    const sender = request({
      port,
      path,
      host: "127.0.0.1",
      method: "POST",
      headers: announced ? { "content-length": String(bytes) } : {},
    });
    sender.on("response", (response) => {
      answered = true;
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (part: Buffer) => {
        chunks.push(part);
        length += part.length;
        if (length < Number(response.headers["content-length"])) return;
        const content = Buffer.concat(chunks);
        const { statusCode = 0, headers } = response;
        resolve({ answer: { status: statusCode, headers, bytes: content, text: content.toString() }, sentBytes });
        sender.destroy();
      });
      response.on("error", () => {});
    });
    sender.on("error", (error) => {
      if (!answered) reject(error);
    });
    const more = (): void => {
      while (!answered && sentBytes < bytes) {
        sentBytes += chunk.length;
        if (!sender.write(chunk)) {
          sender.once("drain", more);
          return;
        }
      }
      if (!answered) sender.end();
    };
    more();
  });
}
