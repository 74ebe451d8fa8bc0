/** Matrices of complex numbers, for the equations of factors: real and imaginary parts by rows, in arrays that are fast to read. */
import assert from 'node:assert/strict';

export class Matrix {
  /** A matrix of zeros. */
  constructor(rows, columns) {
    this.rows = rows;
    this.columns = columns;
    this.parts = [new Float64Array(rows * columns), new Float64Array(rows * columns)];
  }

  /** @param {(row: number, column: number, part: 0 | 1) => number} at the real part (0) or the imaginary part (1) */
  static of(rows, columns, at) {
    const made = new Matrix(rows, columns);
    for (const part of [0, 1]) {
      for (let i = 0, k = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++, k++) made.parts[part][k] = at(i, j, part);
      }
    }
    return made;
  }

  /** Reads a literal's data, from element `from` on. `lanes` is how many numbers an element has: 2 if complex, else 1. */
  static from(data, rows, columns, lanes, from = 0) {
    return Matrix.of(rows, columns, (i, j, part) => (part < lanes ? data[(from + i * columns + j) * lanes + part] : 0));
  }

  static identity(n) {
    return Matrix.of(n, n, (i, j, part) => Number(i === j && part === 0));
  }

  at(i, j, part) {
    return this.parts[part][i * this.columns + j];
  }

  /** The numbers as those of a literal of this array type: the inverse of from(). */
  data(ArrayType, lanes) {
    const data = new ArrayType(this.rows * this.columns * lanes);
    for (let part = 0; part < lanes; part++) this.parts[part].forEach((x, i) => (data[i * lanes + part] = x));
    return data;
  }

  /** The first rows and columns. */
  leading(rows, columns) {
    return Matrix.of(rows, columns, (i, j, part) => this.at(i, j, part));
  }

  /** Zeros where `isKept` is false. */
  where(isKept) {
    return Matrix.of(this.rows, this.columns, (i, j, part) => (isKept(i, j) ? this.at(i, j, part) : 0));
  }

  get adjoint() {
    return Matrix.of(this.columns, this.rows, (i, j, part) => (part ? -this.at(j, i, 1) : this.at(j, i, 0)));
  }

  /** @param {number[]} by a real number for each column; columns beyond them become 0 */
  scaleColumns(by) {
    return Matrix.of(this.rows, this.columns, (i, j, part) => this.at(i, j, part) * (by[j] ?? 0));
  }

  times(other) {
    const made = new Matrix(this.rows, other.columns), depth = this.columns, width = other.columns;
    const [[a, ai], [b, bi], [c, ci]] = [this.parts, other.parts, made.parts];
    const isReal = [ai, bi].every((numbers) => numbers.every((x) => x === 0)); // a quarter of the work
    for (let i = 0; i < this.rows; i++) {
      for (let k = 0; k < depth; k++) {
        const x = a[i * depth + k], xi = ai[i * depth + k];
        if (isReal) {
          for (let j = 0, at = i * width, from = k * width; j < width; j++, at++, from++) c[at] += x * b[from];
          continue;
        }
        for (let j = 0, at = i * width, from = k * width; j < width; j++, at++, from++) {
          c[at] += x * b[from] - xi * bi[from];
          ci[at] += x * bi[from] + xi * b[from];
        }
      }
    }
    return made;
  }

  get trace() {
    return this.parts.map((numbers) => {
      let sum = 0;
      for (let i = 0; i < Math.min(this.rows, this.columns); i++) sum += numbers[i * this.columns + i];
      return sum;
    });
  }

  /** The root of the sum of all squares. */
  get norm() {
    let sum = 0;
    for (const numbers of this.parts) for (const x of numbers) sum += x * x;
    return Math.sqrt(sum);
  }
}

/** Fails if a number of `a` is further from that of `b` than `bound`, or is NaN. */
export function assertNear(a, b, bound, what) {
  assert.deepEqual([a.rows, a.columns], [b.rows, b.columns], what);
  const [[x, xi], [y, yi]] = [a.parts, b.parts];
  let most = 0;
  for (let i = 0; i < x.length; i++) {
    const error = Math.hypot(x[i] - y[i], xi[i] - yi[i]);
    most = error <= most ? most : error;
  }
  assert.ok(most <= bound, `${what}: off by ${most}`);
}
