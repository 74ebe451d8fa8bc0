/** Large corpora: `make test` takes a fixed sample of them, `make test-full` all (tests/README.md lists them). */
export const ALL = process.env.CORPUS === 'all';

/** Every `every`th item, beginning with that at `first`; with CORPUS=all each. */
export const sample = (items, every, first = 0) => items.filter((_, i) => ALL || i % every === first);
