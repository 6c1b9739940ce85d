import type { Route } from "../../cdk/routes.ts";

/** What a path and method lead to. `methods` is what the path would take. */
export type Match =
  | { readonly kind: "route"; readonly route: Route; readonly pathParameters: Readonly<Record<string, string>> }
  | { readonly kind: "wrong-method"; readonly methods: readonly string[] }
  | { readonly kind: "no-path" }
  | { readonly kind: "malformed-path" };

/** Looks a raw path up in the list of routes. Parameters are decoded once, after the path was taken apart at its slashes. */
export function matchRoute(routes: readonly Route[], method: string, rawPath: string): Match {
  const segments = rawPath.split("/");
  // A literal segment goes before a parameter, as in API Gateway, wherever it stands in the list.
  const fitting = routes
    .filter((route) => fits(route.path.split("/"), segments))
    .sort((a, b) => specificity(b.path).localeCompare(specificity(a.path)));
  if (fitting.length === 0) return { kind: "no-path" };
  const route = fitting.find((each) => each.method === method);
  if (route === undefined) return { kind: "wrong-method", methods: [...new Set(fitting.map((each) => each.method))] };
  try {
    return { kind: "route", route, pathParameters: parametersOf(route.path.split("/"), segments) };
  } catch {
    return { kind: "malformed-path" };
  }
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => (isParameter(part) ? segments[index] !== "" : part === segments[index]))
  );
}

function parametersOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> {
  // fromEntries defines properties, so a parameter can have any name.
  return Object.fromEntries(
    pattern.flatMap((part, index) =>
      isParameter(part) ? [[part.slice(1, -1), decodeURIComponent(segments[index] ?? "")]] : [],
    ),
  );
}

const isParameter = (part: string): boolean => part.startsWith("{");

const specificity = (path: string): string =>
  path
    .split("/")
    .map((part) => (isParameter(part) ? "0" : "1"))
    .join("");
