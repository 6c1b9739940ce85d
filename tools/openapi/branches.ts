/** What the document says of health, sessions, branches and recovery. */
import { commitBody, endBody, heuristicBody, startBody, timeoutBody } from "../../shared/edge/schemas/dtx.ts";
import { recoverQuery, recoveryBody } from "../../shared/edge/schemas/dtx-read.ts";
import { completionsQuery, sessionBody, syncBody } from "../../shared/edge/schemas/sessions.ts";
import {
  attached,
  branch,
  completions,
  health,
  preparedPage,
  recoveryPage,
  session,
  synced,
  timeout,
  verb,
} from "./answers.ts";
import type { Operations } from "./operation.ts";

export const healthOperations: Operations = {
  health: { summary: "Whether the service is there", answers: { 200: ["It is.", health] } },
};

export const sessionOperations: Operations = {
  "sessions/attach": {
    summary: "Attach, resume or keep alive a session",
    description:
      "Without `Session-Epoch` it attaches a new name or resumes an existing one under the next epoch, which fences the older ones, and recovers what they left. With the current epoch it renews the expiry. `timeoutSeconds` left out: 300 on an attach, as before on a keep-alive. A `Session` header that names another session than the path makes its epoch count for nothing here.",
    headers: ["Session-Epoch"],
    body: sessionBody,
    answers: { 201: ["Attached: a new name.", attached], 200: ["Resumed, or kept alive.", attached] },
    problems: ["not-found", "session-fenced", "not-allowed"],
  },
  "sessions/get": {
    summary: "A session as it is",
    description: "Renews nothing. `incompleteCommands` counts its stored commands that are open.",
    answers: { 200: ["The session.", session] },
    problems: ["not-found"],
  },
  "sessions/detach": {
    summary: "Detach a session",
    description:
      "With `Session-Epoch` only when that is the current one. Detached again it is 204 again; a name that was never attached is 404.",
    headers: ["Session-Epoch"],
    answers: { 204: ["Detached."] },
    problems: ["not-found", "session-fenced"],
  },
  "sessions/completions": {
    summary: "What a session's commands came to",
    description:
      "Completed commands above `after`, by id, at most 500; each has one completion, failures included. `completedThrough` is the highest id with nothing open at or below it, in a cut answer not above its last: give it back as `after`. With nothing to tell the call waits up to `waitSeconds`. Completions are kept for 7 days. Commands of an epoch that was detached have none from then on.",
    query: completionsQuery,
    answers: { 200: ["The completions.", completions] },
    problems: ["not-found"],
  },
  "sessions/sync": {
    summary: "Wait for a session's commands",
    description:
      "Answers when everything that the session has sent before is complete. When `waitSeconds` are over before, 202 names the lowest 100 that are open; `more`: there are others.",
    headers: ["Session-Epoch"],
    body: syncBody,
    answers: { 200: ["All of it is complete.", synced], 202: ["Some of it is still open.", synced] },
    problems: ["not-found", "session-fenced"],
  },
};

const anyCaller = "Any authorized caller; no association is needed. A `Session` that is named is fenced first.";

export const branchOperations: Operations = {
  "dtx/recover": {
    summary: "List prepared and heuristically completed branches",
    description: "The X/Open recover. `unreadable` names branches whose record cannot be read.",
    query: recoverQuery,
    answers: { 200: ["A page; complete and without repeats across pages.", preparedPage] },
  },
  "dtx/get": {
    summary: "A branch, or its remembered outcome",
    description: "At most 10,000 operations are listed; `more` says that there are others.",
    answers: { 200: ["The branch.", branch] },
    problems: ["not-found"],
  },
  "dtx/start": {
    summary: "Start, join or resume a branch",
    description: "`timeoutSeconds` counts on a plain start only; 0 is the default of 60.",
    headers: ["Session!"],
    body: startBody,
    answers: { 200: ["Associated; or XA_RBROLLBACK, XA_RBTIMEOUT: not associated.", verb] },
    problems: [
      "not-found",
      "session-fenced",
      "command-invalid",
      "not-allowed",
      "illegal-state",
      "resource-limit-exceeded",
    ],
  },
  "dtx/end": {
    summary: "End or suspend an association",
    headers: ["Session!"],
    body: endBody,
    answers: { 200: ["Ended, also with XA_RBROLLBACK and XA_RBTIMEOUT.", verb] },
    problems: ["session-fenced", "command-invalid", "illegal-state"],
  },
  "dtx/prepare": {
    summary: "Prepare a branch",
    description: `${anyCaller} A full queue dooms the branch: XA_RBROLLBACK.`,
    headers: ["Session"],
    answers: { 200: ["Prepared; or XA_RBROLLBACK, XA_RBTIMEOUT.", verb] },
    problems: ["not-found", "session-fenced", "illegal-state"],
  },
  "dtx/commit": {
    summary: "Commit a branch, in one phase or as the second of two",
    description: `${anyCaller} Repeated within 24 h of an XA_OK it is XA_OK with \`remembered\`, whichever \`onePhase\` it bears. A message whose deduplication id another one took meanwhile is dropped and counted.`,
    headers: ["Session"],
    body: commitBody,
    answers: { 200: ["Committed with XA_OK; with any other status it was not, or had been decided before.", verb] },
    problems: ["not-found", "session-fenced", "illegal-state"],
  },
  "dtx/rollback": {
    summary: "Roll a branch back",
    description: `${anyCaller} Repeated within 24 h of an XA_OK it is XA_OK with \`remembered\`.`,
    headers: ["Session"],
    answers: { 200: ["Rolled back; XA_HEURCOM when an operator had committed it.", verb] },
    problems: ["not-found", "session-fenced", "illegal-state"],
  },
  "dtx/forget": {
    summary: "Forget a heuristically completed branch",
    description: anyCaller,
    headers: ["Session"],
    answers: { 204: ["Forgotten: the xid is unknown, its outcome remembered for 24 h."] },
    problems: ["not-found", "session-fenced", "illegal-state"],
  },
  "dtx/heuristic": {
    summary: "Decide a prepared branch as an operator",
    description: `${anyCaller} The decision is applied at once; the branch stays listed until it is forgotten. \`reason\` may be left out.`,
    headers: ["Session"],
    body: heuristicBody,
    answers: { 200: ["Decided and applied.", verb] },
    problems: ["not-found", "session-fenced", "illegal-state"],
  },
  "dtx/get-timeout": {
    summary: "The timeout of a branch",
    answers: { 200: ["In seconds.", timeout] },
    problems: ["not-found"],
  },
  "dtx/set-timeout": {
    summary: "Set the timeout of a branch",
    description: `${anyCaller} Restarts the clock of a branch that is neither prepared nor doomed; 0 is the default of 60.`,
    headers: ["Session"],
    body: timeoutBody,
    answers: { 200: ["The timeout in force.", timeout] },
    problems: ["not-found", "session-fenced", "illegal-state"],
  },
};

export const recoveryOperations: Operations = {
  recovery: {
    summary: "Recover the whole store, page by page",
    description:
      "Finishes what is decided, undoes what is dead or expired, lists what is in doubt; decides nothing. Twice, or twice at once, equals once. `more` without a `cursor`: others are at work on something, ask again.",
    body: recoveryBody,
    answers: { 200: ["What it did and found.", recoveryPage] },
  },
};
