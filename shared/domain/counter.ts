/** Arithmetic of the store's counters: unsigned 64-bit integers that wrap from 2^64-1 to 0. */

const SIZE = 1n << 64n;
const HALF = 1n << 63n;

/** The largest value; one more is 0. */
export const COUNTER_MAX: bigint = SIZE - 1n;

/** The sum, modulo 2^64. */
export const addCounters = (a: bigint, b: bigint): bigint => BigInt.asUintN(64, a + b);

/** How far `to` is from `from` going up, modulo 2^64. */
export const counterDistance = (from: bigint, to: bigint): bigint => BigInt.asUintN(64, to - from);

/**
 * Order of serial numbers over 64 bits (RFC 1982): positive when `a` comes after `b`, negative when before, 0 when they are
 * the same. The RFC leaves a distance of exactly 2^63 undefined; here the numerically larger one comes after. It is no
 * total order: of three numbers that lie around the circle, each may come after another (`latestOf`).
 */
export const compareSerials = (a: bigint, b: bigint): number => {
  if (a === b) return 0;
  const distance = counterDistance(b, a);
  if (distance === HALF) return a > b ? 1 : -1;
  return distance < HALF ? 1 : -1;
};

/** The serial number that comes after all the others; undefined when they lie around the circle, or there is none. */
export const latestOf = (serials: readonly bigint[]): bigint | undefined =>
  serials.find((serial) => serials.every((other) => compareSerials(serial, other) >= 0));

/** The counter that a decimal text says, or undefined: no sign, no leading zeros, below 2^64. */
export const parseCounter = (text: string): bigint | undefined => {
  if (!/^(0|[1-9][0-9]{0,19})$/.test(text)) return undefined;
  const value = BigInt(text);
  return value <= COUNTER_MAX ? value : undefined;
};
