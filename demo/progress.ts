import { MultiBar } from "cli-progress";

/** How far the lines have come. */
export interface Counts {
  sent: number;
  moved: number;
  arrived: number;
  kills: number;
}

/** The screen while the demo runs. */
export interface Progress {
  show(counts: Counts): void;
  /** A line above the bar. */
  say(line: string): void;
  stop(): void;
}

/** Draws a bar of so many lines; where there is no terminal it is printed every other second. */
export function startProgress(lines: number, kills: number): Progress {
  const payload = ({ sent, moved, kills: done }: Counts) => ({ sent, moved, done: `${done}/${kills}` });
  const bars = new MultiBar({
    format: "[{bar}] {value}/{total} lines arrived, {moved} moved, {sent} sent, killed {done}",
    stream: process.stdout,
    noTTYOutput: true,
    notTTYSchedule: 2_000,
    hideCursor: true,
  });
  const bar = bars.create(lines, 0, payload({ sent: 0, moved: 0, arrived: 0, kills: 0 }));
  return {
    show: (counts) => bar.update(counts.arrived, payload(counts)),
    say: (line) => (process.stdout.isTTY ? bars.log(`${line}\n`) : process.stdout.write(`${line}\n`)),
    stop: () => bars.stop(),
  };
}
