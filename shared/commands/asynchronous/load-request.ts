import type { Request } from "../../domain/command.ts";
import type { Message } from "../../domain/message.ts";
import type { StoredCommand } from "../../records/command.ts";
import { decode } from "../../records/payload.ts";
import type { Context } from "../context.ts";
import { loadAllMessages } from "../payload.ts";

export interface Requested {
  readonly request: Request;
  readonly messages: readonly Message[];
}

/** What a command asks, from its payload; undefined when that is gone, and so the command. */
export const loadRequest = async (context: Context, { payload }: StoredCommand): Promise<Requested | undefined> => {
  const found = payload.kind === "inline" ? decode(payload, new Map()) : await loadAllMessages(context, payload);
  const [request, ...messages] = [...found.values()];
  if (request === undefined) return undefined;
  return { request: JSON.parse(Buffer.from(request.body).toString("utf8")) as Request, messages };
};
