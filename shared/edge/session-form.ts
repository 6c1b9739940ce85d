/** Sessions as answers show them. */
import type { Session, SessionRef } from "../domain/session.ts";
import { isoTime } from "./branch-form.ts";

export const sessionForm = ({ name, epoch, timeoutSeconds, expiresAtMs }: Session) => ({
  session: name,
  epoch,
  timeoutSeconds,
  expiresAt: isoTime(expiresAtMs),
});

/** The epoch header of a route that names a session in its path; beside a Session header that names another it is not meant. */
export const epochOfPath = (
  name: string,
  call: { readonly session: SessionRef | undefined; readonly epoch: number | undefined },
): number | undefined => (call.session === undefined || call.session.name === name ? call.epoch : undefined);
