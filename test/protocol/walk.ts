/** Walks the whole model, scope by scope: `node test/protocol/walk.ts`, or with the numbers of some scopes. */
import { Protocol } from "./actors.ts";
import { explore } from "./explore.ts";
import { whole } from "./scopes.ts";

const wanted = process.argv.slice(2).map(Number);
const all = { states: 0, steps: 0, broken: 0 };
for (const [index, [name, scope]] of Object.entries(whole).entries()) {
  if (wanted.length > 0 && !wanted.includes(index + 1)) continue;
  const { states, steps, worlds, depth, broken } = explore(new Protocol(scope));
  process.stdout.write(`${index + 1}. ${name}: ${states} states of ${worlds} tables, ${steps} steps, ${depth} deep\n`);
  all.states += states;
  all.steps += steps;
  if (broken === undefined) continue;
  all.broken += 1;
  process.stdout.write(`   broken: ${broken.invariant}\n${broken.trace.map((line) => `     ${line}\n`).join("")}`);
}
process.stdout.write(`${all.states} states, ${all.steps} steps, ${all.broken} invariants broken\n`);
process.exitCode = all.broken === 0 ? 0 : 1;
