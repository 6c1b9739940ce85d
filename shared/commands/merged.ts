/** Merges sources that are each in order into one order; each is read only as far as the caller goes on. */
export async function* merged<T>(
  sources: readonly AsyncGenerator<T>[],
  isBefore: (a: T, b: T) => boolean,
): AsyncGenerator<T> {
  const heads = await Promise.all(sources.map((source) => source.next()));
  for (;;) {
    let first: { readonly value: T; readonly source: number } | undefined;
    for (const [source, head] of heads.entries()) {
      if (head.done !== true && (first === undefined || isBefore(head.value, first.value))) {
        first = { value: head.value, source };
      }
    }
    if (first === undefined) return;
    yield first.value;
    const next = await sources[first.source]?.next();
    if (next !== undefined) heads[first.source] = next;
  }
}
