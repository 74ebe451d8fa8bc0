/** The options of the functions that read programs. */
import { ELIDED_RANDOM, ELIDED_ZEROS } from '../base/constants.mjs';
import { copyList, kind } from '../base/options.mjs';
import { Shape } from '../values/shape.mjs';

export const ELIDED = { zeros: ELIDED_ZEROS, random: ELIDED_RANDOM };

export const HLO_OPTIONS = {
  elided: kind("'zeros' or 'random'", (value) => (typeof value === 'string' && Object.hasOwn(ELIDED, value) ? value : undefined)),
};
export const LOAD_OPTIONS = {
  ...HLO_OPTIONS,
  arguments: kind('an array of shapes', (value) =>
    (Array.isArray(value) ? copyList(value).map((shape) => Shape.of(shape)) : undefined)),
};

/**
 * An option for the package itself: (names, shapes) => other names for the parameters, or undefined.
 * Not a string, so that no caller can give it.
 */
export const RENAME = Symbol('rename');
