import { Unavailable } from "../../store/port.ts";

/**
 * What the work gives, or undefined when a record cannot be read: whatever is wrong with that one, it stops nothing else.
 * Lost contact is not the record's fault and goes on up.
 */
export const readable = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unavailable) throw error;
    return undefined;
  }
};
