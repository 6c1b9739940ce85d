/** What every command works with. */
import type { Store } from "../store/port.ts";
import type { CommandQueue } from "../transport/port.ts";
import type { Beside } from "./beside.ts";
import type { Router } from "./exchanges/router.ts";
import type { MetBranches } from "./met-branches.ts";
import type { SettingsCache } from "./settings-cache.ts";

export interface Context {
  readonly store: Store;
  readonly commandQueue: CommandQueue;
  readonly settings: SettingsCache;
  readonly router: Router;
  readonly met: MetBranches;
  /** The clock, in ms; commands pass what it says on as `nowMs`. */
  readonly now: () => number;
  /** When a call that may be long stops and says how to go on. */
  readonly stopAtMs: number;
  /** The store has replicas: whatever is read of single records, and of completions, is waited for there. */
  readonly isReplicated?: boolean;
  /** Of a verb that runs for a stored command, or for what came by the command queue. */
  readonly beside?: Beside;
}
