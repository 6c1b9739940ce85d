import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

/**
 * A value packed for a record: what answers say of one message is much like what they say of the next. The window spans
 * the longest answer, whose queues are the same from message to message: 4 MB stay below the 400 KB of a record.
 */
export const packed = (value: object): Uint8Array =>
  brotliCompressSync(JSON.stringify(value), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 },
  });

export const unpacked = (bytes: Uint8Array): unknown => JSON.parse(brotliDecompressSync(bytes).toString("utf8"));
