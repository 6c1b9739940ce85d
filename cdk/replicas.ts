/** A table in another region that is fed with all that is written in the first. */
export interface Replica {
  readonly region: string;
  /** Fixed, so that the stack of the first table can name it from its own region. */
  readonly tableName: string;
}

const most = 2;

/**
 * The replicas that `-c replicas=eu-west-1,us-east-1` asks for: none without it, else one or two regions. Throws when it
 * cannot be meant.
 */
export function replicasIn(context: unknown): readonly Replica[] {
  if (context === undefined) return [];
  const regions = String(context).split(",");
  const isGood = regions.length <= most && new Set(regions).size === regions.length && regions.every(isRegion);
  if (!isGood) throw new Error(`replicas must be one or two regions, as in eu-west-1,us-east-1, not "${context}"`);
  return regions.map((region) => ({ region, tableName: `cairn-replica-${region}` }));
}

const isRegion = (text: string): boolean => /^[a-z]{2}(-[a-z]+)+-\d$/.test(text);
