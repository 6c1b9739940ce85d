import type { Client } from "../support/client.ts";
import type { Answer } from "../support/http.ts";
import type { Problem } from "../support/problems.ts";
import type { Completion } from "../support/shapes.ts";
import { told } from "./told.ts";

/** What the session is told of its commands, without what differs from run to run. */
export const completionsOf = async (c: Client, session: string): Promise<readonly string[]> => {
  const answer = await c.completions(session);
  if (answer.problem !== undefined) return [answer.problem.code];
  const { completions, completedThrough } = answer.body;
  return [...completions.map(textOf), `all through ${completedThrough}`];
};

const textOf = ({ commandId, status, body }: Completion): string => {
  const { code } = (body ?? {}) as Partial<Problem>;
  const answer = { status, body, problem: undefined } as unknown as Answer<unknown>;
  return `${commandId}: ${status} ${code ?? JSON.stringify(told(answer, new Map()))}`;
};
