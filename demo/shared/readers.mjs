/** The parts of the package that read programs and weights, which the package loads one after the other when it needs them. */
export const loadReaders = () => Promise.all([
  import('../../bindings/api/loading.mjs'), import('../../bindings/stablehlo/index.mjs'), import('../../bindings/formats/weights_reader.mjs'),
]);
