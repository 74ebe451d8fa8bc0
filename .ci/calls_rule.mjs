/**
 * A rule of ESLint: a call of the core's function has its name from bindings/base/calls.mjs, and as many arguments as
 * src/api.h declares.
 */
import { readDeclared } from '../bindings/tools/declarations/calls.mjs';

const counts = new Map((await readDeclared()).map(({ name, count }) => [name, count]));
const METHODS = new Set(['call', 'need']);

export const callsRule = {
  meta: { type: 'problem', schema: [] },
  create: (context) => ({
    CallExpression(node) {
      const [name, ...given] = node.arguments;
      if (!METHODS.has(node.callee.property?.name) || !name) return;
      if (name.type === 'Literal' && counts.has(name.value)) {
        context.report({ node: name, message: `import ${name.value} from calls.mjs` });
      }
      if (name.type !== 'Identifier' || given.some(({ type }) => type === 'SpreadElement')) return;
      const count = counts.get(name.name);
      if (count === undefined || count === given.length) return;
      context.report({ node, message: `${name.name} takes ${count} arguments (src/api.h), not ${given.length}` });
    },
  }),
};
