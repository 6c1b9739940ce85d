import { Unreadable } from "../../shared/records/reading.ts";
import { Unavailable } from "../../shared/store/port.ts";
import { Failure } from "./failure.ts";

/** Does what needs a table; what the table or its records have against it becomes one line. */
export const reading = async <T>(named: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure([`${named}: ${problemOf(error)}`]);
  }
};

const problemOf = (error: unknown): string => {
  if (error instanceof Unreadable) return error.message;
  if (error instanceof Unavailable) return `cannot be reached: ${error.message}`;
  if (!(error instanceof Error) || !("$metadata" in error || "code" in error || isOfCredentials(error))) throw error;
  if (error.name === "ResourceNotFoundException") return "there is no such table";
  return `cannot be read: ${error.name}: ${error.message}`.replace(/\s*\n\s*/g, " ");
};

const isOfCredentials = ({ name }: Error): boolean => /Credentials|TokenProvider/.test(name);
