/** The one middy stack for what a schedule calls. */
import middy from "@middy/core";
import type { CallContext } from "./route.ts";

/** Runs the work with a context of its own; no write of it is open when it returns. A failure is the schedule's to repeat. */
export const scheduled = <C extends CallContext>(
  open: (remainingMs: number) => C,
  work: (context: C) => Promise<void>,
) =>
  middy<unknown, void>().handler(async (_event, lambdaContext) => {
    const context = open(lambdaContext.getRemainingTimeInMillis());
    try {
      await work(context);
    } finally {
      await context.settled();
    }
  });
