/** The calls that only concern a session: keep-alive, and the fences of resume and detach. */
import { attach, close, renew } from "../../shared/domain/session.ts";
import { type Call, isFenced, type Own, ref } from "./call.ts";
import { putSession } from "./effects.ts";
import { nowOf, type SessionName } from "./table.ts";

export const keepAliveCall = (own: Own): Call => ({
  id: `keep alive ${ref(own)}`,
  own,
  most: () => ({ reads: [own.name], names: [own.name] }),
  decide: (view, rules) => {
    if (rules.keepAliveIsFenced && isFenced(view, own)) return undefined;
    const renewed = renew({ ...view[own.name], epoch: own.epoch, state: "attached" }, 1, nowOf(view, own.name));
    return {
      does: `keeps ${own.name} alive`,
      names: [own.name],
      apply: (table) => putSession(table, own.name, renewed),
    };
  },
});

/** The fence of a resume: the next epoch. Recovery of the session's branches follows it. */
export const attachCall = (name: SessionName): Call => ({
  id: `resume ${name}`,
  most: () => ({ reads: [name], names: [name] }),
  decide: (view) => {
    if (view[name].epoch > 1) return undefined;
    const next = attach(view[name], name, 1, nowOf(view, name));
    return { does: `fences ${name} by epoch 2`, names: [name], apply: (table) => putSession(table, name, next) };
  },
});

/** The fence of a detach. */
export const detachCall = (name: SessionName): Call => ({
  id: `detach ${name}`,
  most: () => ({ reads: [name], names: [name] }),
  decide: (view) => {
    if (view[name].epoch > 1 || view[name].state !== "attached") return undefined;
    const closed = close(view[name], nowOf(view, name));
    return { does: `fences ${name} by closing it`, names: [name], apply: (table) => putSession(table, name, closed) };
  },
});
