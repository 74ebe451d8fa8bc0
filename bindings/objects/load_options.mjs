/** The options of the functions that read programs. */
import { ELIDED_RANDOM, ELIDED_ZEROS } from '../base/constants.mjs';
import { copyList, isPlainObject, kind } from '../base/options.mjs';
import { Shape } from '../values/shape.mjs';

export const ELIDED = { zeros: ELIDED_ZEROS, random: ELIDED_RANDOM };

export const HLO_OPTIONS = {
  elided: kind("'zeros' or 'random'", (value) => (typeof value === 'string' && Object.hasOwn(ELIDED, value) ? value : undefined)),
};
const name = (what) => kind(`the name of a ${what}`, (value) => (typeof value === 'string' && value !== '' ? value : undefined));
export const LOAD_OPTIONS = {
  ...HLO_OPTIONS,
  entry: name('function'),
  platform: name('platform'),
  arguments: kind('an array of shapes, or an object of them by name', (value) => {
    if (isPlainObject(value)) return Object.fromEntries(Object.entries(value).map(([name, shape]) => [name, Shape.of(shape)]));
    return Array.isArray(value) ? copyList(value).map((shape) => Shape.of(shape)) : undefined;
  }),
};

/**
 * An internal option: (names, shapes) => other names for the parameters, or undefined. A symbol, so that callers cannot
 * set it.
 */
export const RENAME = Symbol('rename');
/** An internal option: the platforms that an export is for, in its order. */
export const PLATFORMS = Symbol('platforms');
