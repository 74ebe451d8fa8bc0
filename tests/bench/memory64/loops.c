/* Inner loops of kernels and generated code, for run.mjs: built with addresses of 32 and of 64 bits. */
#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>
/* y[r] = sum_k m[r][k] x[k], f32 */
void matvec(const float *m, const float *x, float *y, size_t rows, size_t k) {
  for (size_t r = 0; r < rows; r++) {
    v128_t a = wasm_f32x4_splat(0), b = a, c = a, d = a;
    const float *row = m + r * k;
    for (size_t i = 0; i < k; i += 16) {
      a = wasm_f32x4_add(a, wasm_f32x4_mul(wasm_v128_load(row + i), wasm_v128_load(x + i)));
      b = wasm_f32x4_add(b, wasm_f32x4_mul(wasm_v128_load(row + i + 4), wasm_v128_load(x + i + 4)));
      c = wasm_f32x4_add(c, wasm_f32x4_mul(wasm_v128_load(row + i + 8), wasm_v128_load(x + i + 8)));
      d = wasm_f32x4_add(d,
                         wasm_f32x4_mul(wasm_v128_load(row + i + 12), wasm_v128_load(x + i + 12)));
    }
    a = wasm_f32x4_add(wasm_f32x4_add(a, b), wasm_f32x4_add(c, d));
    y[r] = wasm_f32x4_extract_lane(a, 0) + wasm_f32x4_extract_lane(a, 1) +
           wasm_f32x4_extract_lane(a, 2) + wasm_f32x4_extract_lane(a, 3);
  }
}
/* 4 rows x 4 columns of a product, panels packed: the inner kernel of a matrix product */
void panel(const float *a, const float *b, float *c, size_t k, size_t times) {
  for (size_t t = 0; t < times; t++) {
    v128_t s0 = wasm_f32x4_splat(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (size_t i = 0; i < k; i++) {
      v128_t x = wasm_v128_load(b + 8 * i), y = wasm_v128_load(b + 8 * i + 4);
      v128_t p = wasm_v128_load32_splat(a + 4 * i), q = wasm_v128_load32_splat(a + 4 * i + 1),
             r = wasm_v128_load32_splat(a + 4 * i + 2), u = wasm_v128_load32_splat(a + 4 * i + 3);
      s0 = wasm_f32x4_add(s0, wasm_f32x4_mul(p, x));
      s1 = wasm_f32x4_add(s1, wasm_f32x4_mul(p, y));
      s2 = wasm_f32x4_add(s2, wasm_f32x4_mul(q, x));
      s3 = wasm_f32x4_add(s3, wasm_f32x4_mul(q, y));
      s4 = wasm_f32x4_add(s4, wasm_f32x4_mul(r, x));
      s5 = wasm_f32x4_add(s5, wasm_f32x4_mul(r, y));
      s6 = wasm_f32x4_add(s6, wasm_f32x4_mul(u, x));
      s7 = wasm_f32x4_add(s7, wasm_f32x4_mul(u, y));
    }
    wasm_v128_store(c,
                    wasm_f32x4_add(wasm_f32x4_add(wasm_f32x4_add(s0, s1), wasm_f32x4_add(s2, s3)),
                                   wasm_f32x4_add(wasm_f32x4_add(s4, s5), wasm_f32x4_add(s6, s7))));
  }
}
/* z = x * y + z, element by element */
void chain(const float *x, const float *y, float *z, size_t n, size_t times) {
  for (size_t t = 0; t < times; t++)
    for (size_t i = 0; i < n; i += 4)
      wasm_v128_store(z + i,
                      wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(x + i), wasm_v128_load(y + i)),
                                     wasm_v128_load(z + i)));
}
/* a gather of scalars */
void gather(const float *x, const int32_t *index, float *z, size_t n, size_t times) {
  for (size_t t = 0; t < times; t++)
    for (size_t i = 0; i < n; i++) z[i] += x[index[i]];
}
