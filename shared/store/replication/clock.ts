/**
 * Versions of records among replicas: µs of this process's clock, raised above every version that it has met. So whoever
 * has read what another process wrote writes something newer, however their clocks differ.
 */
let last = 0;

export const nextStamp = (): number => {
  last = Math.max(Date.now() * 1_000, last + 1);
  return last;
};

export const meetStamp = (stamp: number): void => {
  last = Math.max(last, stamp);
};
