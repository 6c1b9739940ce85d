import { blocks } from "./markdown.ts";

/** A command of a page, and what the page says that it answers. */
export interface Step {
  readonly command: string;
  readonly says: string | undefined;
}

/**
 * Commands in the order of the page. The answers below a block of commands belong to the last ones of those that speak,
 * line by line.
 */
export function stepsOf(text: string, speaks: (command: string) => boolean): readonly Step[] {
  const steps: Step[] = [];
  for (const { language, lines } of blocks(text)) {
    if (language === "sh") {
      const commands = lines.join("\n").split(/(?<!\\)\n/);
      steps.push(...commands.map((command) => ({ command, says: undefined })));
      continue;
    }
    if (language !== "text" && language !== "json") continue;
    const speaking = steps.flatMap(({ command, says }, i) => (says === undefined && speaks(command) ? [i] : []));
    for (const [i, line] of lines.entries()) {
      const at = speaking[speaking.length - lines.length + i];
      const step = at === undefined ? undefined : steps[at];
      if (at === undefined || step === undefined) throw new Error(`no command answers ${line}`);
      steps[at] = { ...step, says: line };
    }
  }
  return steps;
}

/** The JSON of an answer, its times left open. */
export const answerOf = (text: string): unknown =>
  JSON.parse(text.replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"a time"'));
