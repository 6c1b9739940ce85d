/** Names of queues, exchanges and sessions. */
import { NAME_LENGTH } from "./limits.ts";

const shape = new RegExp(`^[A-Za-z0-9._-]{1,${NAME_LENGTH}}$`);

export const isName = (text: string): boolean => shape.test(text) && text !== "." && text !== "..";

export const NAME_SHAPE = `must be 1 to ${NAME_LENGTH} characters of A-Z a-z 0-9 . _ -, not . or ..`;

/** Names that only the standard exchanges bear. */
export const isReserved = (name: string): boolean => name.startsWith("amq.");
