/** The part of cli-progress that the demo uses; the package brings no types. */
declare module "cli-progress" {
  interface Options {
    readonly format: string;
    readonly stream: NodeJS.WritableStream;
    /** Prints the bar again and again, a line each, where there is no terminal. */
    readonly noTTYOutput: boolean;
    readonly notTTYSchedule: number;
    readonly hideCursor: boolean;
  }

  type Payload = Readonly<Record<string, string | number>>;

  interface Bar {
    update(value: number, payload: Payload): void;
  }

  export class MultiBar {
    constructor(options: Options);
    create(total: number, start: number, payload: Payload): Bar;
    /** Writes above the bar at its next update; `text` ends its own line. */
    log(text: string): void;
    stop(): void;
  }
}
