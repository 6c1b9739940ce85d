/** How requests come to a service: over HTTP, or past it. */

/** What is read of a response. */
export type Response = Pick<globalThis.Response, "status" | "headers" | "text">;

/** Brings a request to a service. */
export type Fetch = (path: string, request: RequestInit) => Promise<Response>;

/** Over HTTP, to wherever the service listens now. */
export const fetchFrom =
  (baseUrl: string | (() => string)): Fetch =>
  (path, request) =>
    fetch((typeof baseUrl === "string" ? baseUrl : baseUrl()) + path, request);
