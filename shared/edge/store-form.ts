/** A store's status as answers show it. */
import { statusDocument } from "../domain/store-document.ts";
import type { StoreStatus } from "../domain/store-status.ts";
import { type Answer, answer } from "./route.ts";

export const statusForm = (status: StoreStatus): Answer => answer(200, statusDocument(status));
