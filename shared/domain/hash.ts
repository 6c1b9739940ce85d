/** FNV-1a, 32 bits, over UTF-16 code units: spreads names over shards and partitions; not for secrets. */
export const fnv1a = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  // The low bits of short texts differ too little: fold the high ones in.
  return (hash ^ (hash >>> 15)) >>> 0;
};
