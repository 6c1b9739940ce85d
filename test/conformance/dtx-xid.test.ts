import { describe, expect, it } from "vitest";
import {
  begin,
  bodiesOf,
  endAndPrepare,
  enqueueBodies,
  expectOk,
  expectRefused,
  expectXa,
  newQueue,
  newSession,
  stateOf,
} from "../support/moves.ts";
import { edgeXids, newXid } from "../support/names.ts";
import { useService } from "../support/service.ts";

const service = useService();

describe("the identity of a branch", () => {
  it("is all three parts: same gtrid with another bqual or format id is another branch", async () => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    const gtrid = crypto.getRandomValues(new Uint8Array(12));
    const xids = [
      newXid({ gtrid, bqual: Buffer.from([1]) }),
      newXid({ gtrid, bqual: Buffer.from([1, 0]) }),
      newXid({ gtrid, bqual: new Uint8Array(0) }),
      newXid({ gtrid, bqual: Buffer.from([1]), formatId: 2 }),
    ];
    for (const xid of xids) {
      await enqueueBodies(await begin(s, xid), queue, [xid]);
      await endAndPrepare(s, xid);
    }
    const [first, second, third, fourth] = xids as [string, string, string, string];
    expectXa(await s.commit(third), "XA_OK");
    expectXa(await s.rollback(first), "XA_OK");
    expectXa(await s.commit(second), "XA_OK");
    expect(await bodiesOf(s, queue)).toEqual([third, second]);
    expect(await stateOf(s, fourth)).toBe("prepared");
    expectXa(await s.rollback(fourth), "XA_OK");
  });

  it("is not confused by where gtrid ends and bqual begins", async () => {
    const s = await newSession(service.client);
    const hex = Buffer.from(crypto.getRandomValues(new Uint8Array(10))).toString("hex");
    const [x1, x2] = [`1.${hex}ab.cd`, `1.${hex}.abcd`];
    await begin(s, x1);
    expect(await stateOf(s, x2)).toBe("none");
    await begin(s, x2);
    expectXa(await s.end(x1), "XA_OK");
    expect(await stateOf(s, x2)).toBe("active");
  });

  it.each(Object.entries(edgeXids()))("round-trips with %s", async (_name, xid) => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    await enqueueBodies(await begin(s, xid), queue, ["in the branch"]);
    await endAndPrepare(s, xid);
    expect(expectOk(await s.getBranch(xid)).xid).toBe(xid);
    const [formatId, gtrid, bqual] = xid.split(".");
    const found = (await s.recover()).filter((branch) => branch.xid === xid);
    expect(found).toMatchObject([{ xid, formatId: Number(formatId), gtrid, bqual }]);
    expectXa(await s.commit(xid), "XA_OK");
    expect(await bodiesOf(s, queue)).toEqual(["in the branch"]);
  });
});

describe("a malformed xid", () => {
  const wrong = {
    "only two parts": "1.aa",
    "four parts": "1.aa.bb.cc",
    "an empty gtrid": "1..bb",
    "65 bytes of gtrid": `1.${"ab".repeat(65)}.`,
    "65 bytes of bqual": `1.ab.${"cd".repeat(65)}`,
    "half a byte": "1.abc.",
    "upper-case hex": "1.AB.",
    "letters that are no hex": "1.xy.",
    "a leading zero in the format id": "01.ab.",
    "a format id past 2147483647": "2147483648.ab.",
    "a negative format id": "-1.ab.",
    "an empty format id": ".ab.",
  };

  it.each(Object.entries(wrong))("is 400 in every call: %s", async (_name, xid) => {
    const s = await newSession(service.client);
    const queue = await newQueue(s);
    const answers = [
      await s.start(xid),
      await s.end(xid),
      await s.prepare(xid),
      await s.commit(xid),
      await s.rollback(xid),
      await s.forget(xid),
      await s.heuristic(xid, "commit"),
      await s.getTimeout(xid),
      await s.setTimeout(xid, 5),
      await s.getBranch(xid),
      await s.within(xid).enqueue(queue, [{ body: "never" }]),
      await s.within(xid).accept(["never"]),
    ];
    for (const answer of answers) expectRefused(answer, "invalid-argument");
    expect(await bodiesOf(s, queue)).toEqual([]);
  });
});
