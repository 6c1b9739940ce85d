/** Branches that were just met, and need not be met again at once. */

/** Bound on what a process remembers of them. */
const METS = 10_000;

export class MetBranches {
  /** By incarnation, in ms. */
  readonly #until = new Map<string, number>();

  isKnown(incarnation: string, nowMs: number): boolean {
    return (this.#until.get(incarnation) ?? 0) > nowMs;
  }

  keep(incarnation: string, untilMs: number): void {
    if (this.#until.size >= METS) this.#until.clear();
    this.#until.set(incarnation, untilMs);
  }
}
