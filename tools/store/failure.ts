/** What the person at the terminal is told, a line each; the command ends with 1. Anything else thrown is a defect. */
export class Failure extends Error {
  readonly lines: readonly string[];
  /** The command was called in a way that it does not know. */
  readonly withHelp: boolean;

  constructor(lines: readonly string[], { withHelp = false } = {}) {
    super(lines.join("\n"));
    this.lines = lines;
    this.withHelp = withHelp;
  }
}
