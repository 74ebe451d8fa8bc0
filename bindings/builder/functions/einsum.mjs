/**
 * Einstein's sums, as NumPy writes them: 'bij,bjk->bik'. Operands are contracted one after the other, from the left.
 *
 * Each operand has a label a dimension. A label that occurs twice in one operand takes its diagonal; one that occurs in
 * no other operand and not in the result is summed up first. Of two operands, a label of both is contracted if nothing
 * later needs it; else it is a batch dimension. '...' stands for further dimensions, which broadcast.
 */
import { invalidArgument } from '../../base/error.mjs';
import { ops, row, string } from '../arguments.mjs';
import { iotaLike } from './axes.mjs';
import { sum } from './reductions.mjs';

const DOTS = '...';

/** The labels of one term: letters, and numbers for the dimensions of an ellipsis, counted from the last. */
function labelsOf(fail, term, rank) {
  const parts = term.replaceAll(' ', '').split(DOTS);
  if (parts.length > 2 || !parts.every((part) => /^[a-zA-Z]*$/.test(part))) {
    fail(`"${term}" must be letters, with at most one "..."`);
  }
  if (parts.length === 1) return [...parts[0]];
  const hidden = rank - parts[0].length - parts[1].length;
  return [...parts[0], ...Array.from({ length: Math.max(hidden, 0) }, (_, i) => String(hidden - 1 - i)), ...parts[1]];
}

/** Sums a term over the positions of labels that are not kept. */
function summed(b, { x, labels }, keeps) {
  const over = labels.map((label, i) => (keeps(label) ? -1 : i)).filter((i) => i >= 0);
  return over.length ? { x: sum(b, x, over), labels: labels.filter(keeps) } : { x, labels };
}

/** Keeps one of two equal labels: where their indices differ, elements are 0, and the second is summed over. */
function diagonal(b, { x, labels }) {
  const second = labels.findIndex((label, i) => labels.indexOf(label) < i);
  if (second < 0) return { x, labels };
  const isEqual = b.eq(iotaLike(b, x, labels.indexOf(labels[second]), 's32'), iotaLike(b, x, second, 's32'));
  return diagonal(b, { x: sum(b, b.select(isEqual, x, 0), [second]), labels: labels.filter((_, i) => i !== second) });
}

/** Labels of size 1 in one of the operands and of more in another are dropped in the first. */
function withoutRepeated(b, { x, labels }, sizes) {
  const isKept = (_, i) => x.shape.dimensions[i] === sizes.get(labels[i]);
  const kept = x.shape.dimensions.filter(isKept);
  return kept.length === labels.length ? { x, labels } : { x: b.reshape(x, kept), labels: labels.filter(isKept) };
}

function contracted(b, lhs, rhs, isNeeded) {
  const shared = lhs.labels.filter((label) => rhs.labels.includes(label));
  const [batch, over] = [shared.filter(isNeeded), shared.filter((label) => !isNeeded(label))];
  const positions = ({ labels }, list) => list.map((label) => labels.indexOf(label));
  const free = ({ labels }) => labels.filter((label) => !shared.includes(label));
  const x = b.dotGeneral(lhs.x, rhs.x, {
    lhsContractingDimensions: positions(lhs, over), rhsContractingDimensions: positions(rhs, over),
    lhsBatchDimensions: positions(lhs, batch), rhsBatchDimensions: positions(rhs, batch),
  });
  return { x, labels: [...batch, ...free(lhs), ...free(rhs)] };
}

/** The size of each label. */
function sizesOf(fail, terms) {
  const sizes = new Map();
  for (const { x, labels } of terms) {
    labels.forEach((label, i) => {
      const [size, known] = [x.shape.dimensions[i], sizes.get(label) ?? 1];
      const isEllipsis = /\d/.test(label);
      if (sizes.has(label) && size !== known && !(isEllipsis && (size === 1 || known === 1))) {
        fail(`"${isEllipsis ? DOTS : label}" is of size ${known} and of ${size}`);
      }
      sizes.set(label, known === 1 ? size : known);
    });
  }
  return sizes;
}

/** Without "->", the result has the labels that occur once, in alphabetical order, after those of "...". */
function implicitResult(terms) {
  const all = terms.flatMap(({ labels }) => labels);
  const hidden = [...new Set(all.filter((label) => /\d/.test(label)))].sort((a, b) => b - a);
  return [...hidden, ...all.filter((label) => /[a-z]/i.test(label) && all.indexOf(label) === all.lastIndexOf(label)).sort()];
}

/** The labels of the result, which occur once there, and in an operand. */
function resultLabels(fail, text, terms, sizes) {
  if (text === undefined) return implicitResult(terms);
  const hidden = [...sizes.keys()].filter((label) => /\d/.test(label)).length;
  const labels = labelsOf(fail, text, text.replaceAll(/[^a-zA-Z]/g, '').length + hidden);
  labels.forEach((label, i) => {
    if (!sizes.has(label)) fail(`the result's "${label}" is in no operand`);
    if (labels.indexOf(label) < i) fail(`the result has "${label}" twice`);
  });
  return labels;
}

/** @returns the sum that `subscripts` describes; `operation` is for errors */
export function einsum(operation, b, subscripts, operands) {
  const fail = (problem) => {
    throw invalidArgument(operation, `"${subscripts}" of ${operands.map(({ shape }) => shape).join(', ')}: ${problem}`);
  };
  const [inputs, result, ...more] = subscripts.split('->');
  const texts = inputs.split(',');
  if (more.length) fail('it has two "->"');
  if (texts.length !== operands.length) fail(`it names ${texts.length} operands`);
  let terms = operands.map((x, i) => ({ x, labels: labelsOf(fail, texts[i], x.shape.rank) }));
  const wrong = terms.findIndex(({ x, labels }) => labels.length !== x.shape.rank);
  if (wrong >= 0) fail(`"${texts[wrong].trim()}" has ${terms[wrong].labels.length} labels for ${operands[wrong].shape}`);
  const sizes = sizesOf(fail, terms);
  const out = resultLabels(fail, result, terms, sizes);
  terms = terms.map((term) => withoutRepeated(b, diagonal(b, term), sizes));
  const total = terms.slice(1).reduce((lhs, rhs, i) => {
    const later = [...out, ...terms.slice(i + 2).flatMap(({ labels }) => labels)];
    const left = summed(b, lhs, (label) => later.includes(label) || rhs.labels.includes(label));
    const right = summed(b, rhs, (label) => later.includes(label) || lhs.labels.includes(label));
    return contracted(b, left, right, (label) => later.includes(label));
  }, terms[0]);
  const { x, labels } = summed(b, total, (label) => out.includes(label));
  const order = out.filter((label) => labels.includes(label));
  const moved = b.transpose(x, order.map((label) => labels.indexOf(label)));
  if (order.length === out.length) return moved;
  return b.broadcastInDim(moved, out.map((label) => sizes.get(label)), order.map((label) => out.indexOf(label)));
}

export const sums = {
  einsum: row('einsum', { subscripts: string, operands: ops }, (_emit, { subscripts, operands }, b) =>
    einsum('einsum', b, subscripts, operands)),
};
