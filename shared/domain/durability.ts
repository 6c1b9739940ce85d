/** The one decision whether a message is persisted on a queue: storing, completing and ordering all follow it. */
import type { Properties } from "./message.ts";
import type { QueueSettings } from "./queue.ts";

/** Rule: `docs/guarantees.md`. The queue decides; only where it leaves it open (`default`) does the message's mode. */
export const isPersisted = (
  { messageDurability }: Pick<QueueSettings, "messageDurability">,
  { deliveryMode }: Pick<Properties, "deliveryMode">,
): boolean => {
  switch (messageDurability) {
    case "always":
      return true;
    case "never":
      return false;
    case "default":
      return deliveryMode === "persistent";
  }
};
