/** Run-length form of lists whose neighbours are mostly equal: `[[count, value], …]`, or the one value alone. */

export const pack = (values: readonly number[]): string => {
  const packed: [number, number][] = [];
  for (const value of values) {
    const last = packed.at(-1);
    if (last !== undefined && last[1] === value) last[0]++;
    else packed.push([1, value]);
  }
  return packed.map(([count, value]) => (count === 1 ? String(value) : `${count}*${value}`)).join(",");
};

/** Throws when the text is not of this form. */
export const unpackAny = (packed: string): readonly number[] =>
  packed === "" ? [] : packed.split(",").flatMap(unpackOne);

/** Throws also when the text does not stand for `length` values. */
export const unpack = (packed: string, length: number): readonly number[] => {
  const values = unpackAny(packed);
  if (values.length !== length) throw new Error(`stands for ${values.length} values, not ${length}`);
  return values;
};

const unpackOne = (part: string): readonly number[] => {
  const match = /^(?:(\d+)\*)?(\d+)$/.exec(part);
  if (match === null) throw new Error(`"${part}" is not a count and a number`);
  return new Array<number>(Number(match[1] ?? 1)).fill(Number(match[2]));
};

/** Ascending indexes as ranges: `0-4,7`. */
export const packIndexes = (indexes: readonly number[]): string => {
  const ranges: [number, number][] = [];
  for (const index of indexes) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
};

export const unpackIndexes = (packed: string): readonly number[] =>
  packed === ""
    ? []
    : packed.split(",").flatMap((part) => {
        const match = /^(\d+)(?:-(\d+))?$/.exec(part);
        if (match === null) throw new Error(`"${part}" is not an index or a range`);
        const first = Number(match[1]);
        return Array.from({ length: Number(match[2] ?? first) - first + 1 }, (_, i) => first + i);
      });
