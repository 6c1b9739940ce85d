import { applyImages } from "../../shared/commands/replica/apply.ts";
import { streamed } from "../../shared/edge/streamed.ts";
import { openFeed } from "../../shared/replica-config.ts";
import { imagesOf } from "../../shared/store/stream.ts";

/** Feeds one replica with what is written in this store. */
export const handler = streamed(openFeed, ({ replica, noted }, records) =>
  applyImages(replica, imagesOf(records), noted),
);
