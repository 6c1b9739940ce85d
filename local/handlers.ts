import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { oneLine, StartFailure } from "./start-failure.ts";

/** What a handler may ask about its invocation; the part of Lambda's context that makes sense here. */
export interface Context {
  readonly awsRequestId: string;
  readonly functionName: string;
  readonly functionVersion: string;
  readonly invokedFunctionArn: string;
  readonly memoryLimitInMB: string;
  readonly logGroupName: string;
  readonly logStreamName: string;
  readonly callbackWaitsForEmptyEventLoop: boolean;
  getRemainingTimeInMillis(): number;
}

/** A Lambda handler. What it answers is checked by whoever invokes it. */
export type Handler = (event: unknown, context: Context) => unknown;

/** Finds the handler of a function by its name in `cdk/routes.ts`, as in `queues/declare`. */
export type LoadHandler = (lambda: string) => Promise<Handler>;

/** The handler in `lambdas/<lambda>.ts`. Throws `StartFailure` when there is none. */
export async function loadLambda(lambda: string): Promise<Handler> {
  const url = new URL(`../lambdas/${lambda}.ts`, import.meta.url);
  if (!existsSync(fileURLToPath(url))) throw new StartFailure(`lambdas/${lambda}.ts is missing`);
  const module = await importOrFail(url, lambda);
  if (typeof module.handler !== "function") throw new StartFailure(`lambdas/${lambda}.ts exports no handler`);
  return module.handler as Handler;
}

/** The context of one invocation that has `timeoutMs` from now. */
export function contextOf(lambda: string, requestId: string, timeoutMs: number): Context {
  const deadlineMs = performance.now() + timeoutMs;
  const functionName = `cairn-${lambda.replaceAll("/", "-")}`;
  return {
    awsRequestId: requestId,
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:local:${localAccount}:function:${functionName}`,
    memoryLimitInMB: "1024",
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, Math.round(deadlineMs - performance.now())),
  };
}

/** The account number that events name here. */
export const localAccount = "000000000000";

async function importOrFail(url: URL, lambda: string): Promise<Record<string, unknown>> {
  try {
    return await import(url.href);
  } catch (error) {
    throw new StartFailure(`cannot load lambdas/${lambda}.ts: ${oneLine(error)}`);
  }
}
