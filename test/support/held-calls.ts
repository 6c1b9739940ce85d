import type { InProcess, SdkCall } from "./in-process.ts";

/** Calls to the table that a test holds back, each until it says so. */
export interface HeldCalls {
  /** Resolves when the call named so is held. */
  held(name: string): Promise<void>;
  /** Lets it go on. */
  release(name: string): void;
}

/** Holds back the first call of a process that `nameOf` gives a name, for each name. */
export function holdCalls(process: InProcess, nameOf: (call: SdkCall) => string | undefined): HeldCalls {
  const gates = new Map<
    string,
    { readonly arrived: Promise<void>; arrive(): void; readonly opened: Promise<void>; open(): void }
  >();
  const gate = (name: string) => {
    const known = gates.get(name);
    if (known !== undefined) return known;
    const [arrived, arrive] = signal();
    const [opened, open] = signal();
    const made = { arrived, arrive, opened, open };
    gates.set(name, made);
    return made;
  };
  process.onCall = async (call, next) => {
    const name = nameOf(call);
    if (name === undefined) return next();
    const { arrive, opened } = gate(name);
    arrive();
    await opened;
    return next();
  };
  return {
    held: (name) => gate(name).arrived,
    release: (name) => gate(name).open(),
  };
}

const signal = (): readonly [Promise<void>, () => void] => {
  let fire = () => {};
  const fired = new Promise<void>((resolve) => {
    fire = resolve;
  });
  return [fired, fire];
};

/** Whether a call commits something of this queue's messages. */
export const commitsOn = ({ operation, input }: SdkCall, queue: string): boolean =>
  operation === "TransactWriteItems" && JSON.stringify(input).includes(`"QUEUE#${queue}#`);
