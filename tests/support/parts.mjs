/** Programs of many independent parts, for tests of sizes. */

export const binary = (name, type, operation) =>
  `${name} { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] ${operation}(a, b) }\n`;
export const less = (type) => `less { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n`;
export const literal = (type, value) => (type === 'c64' ? `(${value}, 0)` : type === 'pred' ? value > 0 : value);

/** One program of many independent parts: each adds its lines and gives the names and shapes of its results. */
export class Parts {
  lines = [];
  results = [];
  parameters = 0;

  name() {
    return `v${this.lines.length}`;
  }

  add(shape, what) {
    const name = this.name();
    this.lines.push(`${name} = ${shape} ${what}`);
    return name;
  }

  parameter(shape) {
    return this.add(shape, `parameter(${this.parameters++})`);
  }

  result(shape, name) {
    this.results.push([shape, name]);
  }

  text(applied = '') {
    return `HloModule m\n${applied}ENTRY e {\n ${this.lines.join('\n ')}\n ROOT r = (${this.results.map(([shape]) => shape)}) tuple(${this.results.map(([, name]) => name)})\n}`;
  }
}

/** The numbers on both sides of thresholds: n - 1, n, n + 1, 2 n. */
export const around = (...numbers) => [...new Set(numbers.flatMap((n) => [n - 1, n, n + 1, 2 * n]))].filter((n) => n > 0);
