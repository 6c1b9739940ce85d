import { setTimeout as sleep } from "node:timers/promises";

/** The headers that put a call into a session and a branch, or make it safe to repeat. */
export interface Scope {
  readonly session?: string;
  readonly epoch?: number;
  readonly xid?: string;
  readonly idempotencyKey?: string;
}

/** No answer came: the call was applied or it was not. */
export class Lost extends Error {}

/** The service refused the call. */
export class Refused extends Error {
  readonly code: string;

  constructor(what: string, code: string, detail: string) {
    super(`${what} was refused: ${code}: ${detail}`);
    this.code = code;
  }
}

const ATTEMPTS = 20;
const WAIT_MS = 200;

/** Makes one call and answers its body. A 503 is repeated as it says; throws `Lost` or `Refused`. */
export async function send<Body>(
  baseUrl: string,
  scope: Scope,
  method: string,
  path: string,
  body?: object,
): Promise<Body> {
  for (let attempt = 1; ; attempt += 1) {
    const { status, text } = await exchange(baseUrl + path, method, scope, body);
    if (status < 400) return (text === "" ? undefined : JSON.parse(text)) as Body;
    const problem = JSON.parse(text) as { readonly code: string; readonly detail?: string };
    // Taking may have leased messages already, and a second time would take the next ones.
    const isRepeatable = status === 503 && !path.endsWith("/deliveries");
    if (!isRepeatable || attempt === ATTEMPTS)
      throw new Refused(`${method} ${path}`, problem.code, problem.detail ?? "");
    await sleep(WAIT_MS);
  }
}

async function exchange(url: string, method: string, scope: Scope, body: object | undefined) {
  try {
    const response = await fetch(url, {
      method,
      headers: { "content-type": "application/json", ...headersOf(scope) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw new Lost(`${method} ${url} was not answered`, { cause: error });
  }
}

const headersOf = ({ session, epoch, xid, idempotencyKey }: Scope): Record<string, string> => ({
  ...(session !== undefined && { session }),
  ...(epoch !== undefined && { "session-epoch": String(epoch) }),
  ...(xid !== undefined && { xid }),
  ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
});
