/** Why the service cannot start or go on, as one line for the person at the terminal. Anything else thrown is a defect. */
export class StartFailure extends Error {}

/** The one line that says what went wrong, whatever was thrown; never a stack. */
export function oneLine(error: unknown): string {
  const text =
    error instanceof Error ? `${error.name === "Error" ? "" : `${error.name}: `}${error.message}` : String(error);
  return text.replace(/\s*\n\s*/g, " ");
}
