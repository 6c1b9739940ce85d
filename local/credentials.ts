/**
 * The AWS settings that handlers and runner go by. The engines started here take any credentials, so they get
 * made-up ones; a stranger's endpoint gets the user's own, or made-up ones where the user has none. An AWS endpoint
 * gets the user's own or none. `undefined` means: take it out of the environment.
 */
export function awsEnvironment(
  env: NodeJS.ProcessEnv,
  given: readonly (string | undefined)[],
): Readonly<Record<string, string | undefined>> {
  const hosts = given.filter((endpoint) => endpoint !== undefined).map((endpoint) => new URL(endpoint).hostname);
  const aws = hosts.find((host) => /\.(amazonaws\.com(\.cn)?|api\.aws)$/.test(host));
  const hasOwn = Boolean(env.AWS_ACCESS_KEY_ID || env.AWS_PROFILE);
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || regionIn(aws) || "us-east-1";
  if (aws !== undefined || (hosts.length > 0 && hasOwn)) return { AWS_REGION: region };
  return {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_SESSION_TOKEN: undefined,
    AWS_PROFILE: undefined,
  };
}

/** The AWS region that a host name tells. */
export const regionIn = (host: string | undefined): string | undefined =>
  /(?:^|\.)([a-z]{2}(?:-[a-z]+)+-\d)\./.exec(host ?? "")?.[1];
