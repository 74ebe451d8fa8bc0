/** Names and attributes as HLO text has them: what XlaBuilder's arguments become. */
import { invalidArgument } from './error.mjs';

/** HLO names have letters, digits, "_", "-" and "."; the first is a letter or "_". */
export function cleanName(name) {
  return String(name).replace(/[^\w.-]/g, '_').replace(/^(?![A-Za-z_])/, '_');
}

/** Lists in braces, nested ones too; everything else as it prints. */
export function attributeText(value, nameOf) {
  if (Array.isArray(value)) return `{${value.map((v) => attributeText(v, nameOf)).join(',')}}`;
  return typeof value === 'object' ? `%${nameOf(value)}` : String(value);
}

const ESCAPES = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
export function quote(text) {
  return `"${text.replace(/["\\\n\r\t]/g, (c) => ESCAPES[c])}"`;
}

/** {[0:2:1], [1:3:1]} */
export function sliceText(starts, limits, strides) {
  return `{${starts.map((start, i) => `[${start}:${limits[i]}:${strides[i]}]`).join(', ')}}`;
}

/** 0_0_0x1_1_0: low, high and interior padding of each dimension. */
export function paddingText(dimensions) {
  return dimensions.map(({ low, high, interior }) => `${low}_${high}_${interior}`).join('x');
}

/**
 * {size=2x3 stride=1x1 pad=0_0x1_1 ...}. windowDimensions has an entry per dimension, and so
 * must each of the others that is given.
 * @param {string} operation for errors
 * @param {Record<string, any[] | undefined>} lists windowDimensions, windowStrides, padding
 *   (pairs), baseDilations, windowDilations, windowReversal
 */
export function windowText(operation, lists) {
  const { windowDimensions: sizes } = lists;
  for (const [name, list] of Object.entries(lists)) {
    if (!list || list.length === sizes.length) continue;
    throw invalidArgument(
      operation,
      `${name} has ${list.length} entries; the window has ${sizes.length} dimensions`,
    );
  }
  if (!sizes.length) return undefined;
  const parts = {
    size: sizes,
    stride: lists.windowStrides,
    pad: lists.padding?.map(([low, high]) => `${low}_${high}`),
    lhs_dilate: lists.baseDilations,
    rhs_dilate: lists.windowDilations,
    rhs_reversal: lists.windowReversal?.map(Number),
  };
  const texts = Object.entries(parts).filter(([, list]) => list);
  return `{${texts.map(([name, list]) => `${name}=${list.join('x')}`).join(' ')}}`;
}

/**
 * Padding in words to [low, high] pairs. SAME: as many window positions as there are elements,
 * divided by the stride; an odd one more at the high end.
 */
export function makePadding(padding, sizes, windowSizes, strides) {
  if (Array.isArray(padding)) return padding;
  return sizes.map((size, i) => {
    if (padding === 'VALID') return [0, 0];
    const positions = Math.ceil(size / strides[i]);
    const total = Math.max((positions - 1) * strides[i] + windowSizes[i] - size, 0);
    return [Math.floor(total / 2), Math.ceil(total / 2)];
  });
}

/** b01f_01io->b01f, from ConvolutionDimensionNumbers. */
export function convolutionLabels(operation, numbers) {
  const side = (name, batch, feature, spatial) => {
    const labels = [];
    const put = (dimension, label) => {
      if (labels[dimension] !== undefined || dimension < 0 || dimension >= spatial.length + 2) {
        throw invalidArgument(
          operation,
          `dimensionNumbers: the dimensions of the ${name} must be 0 to ${spatial.length + 1}, ` +
            'each once',
        );
      }
      labels[dimension] = label;
    };
    put(...batch);
    put(...feature);
    spatial.forEach((dimension, i) => put(dimension, i));
    return labels.join('');
  };
  const n = numbers;
  const input = side(
    'input',
    [n.inputBatchDimension, 'b'],
    [n.inputFeatureDimension, 'f'],
    n.inputSpatialDimensions,
  );
  const kernel = side(
    'kernel',
    [n.kernelInputFeatureDimension, 'i'],
    [n.kernelOutputFeatureDimension, 'o'],
    n.kernelSpatialDimensions,
  );
  const output = side(
    'output',
    [n.outputBatchDimension, 'b'],
    [n.outputFeatureDimension, 'f'],
    n.outputSpatialDimensions,
  );
  return `${input}_${kernel}->${output}`;
}
