/** A sample to try the view with: two layers, as JAX lowers them. */
export const SAMPLE = `module @two_layers {
  func.func public @main(%layers_0_w: tensor<32x64xf32> loc("layers_0_w"), %layers_0_b: tensor<64xf32> loc("layers_0_b"), %layers_1_w: tensor<64x10xf32> loc("layers_1_w"), %layers_1_b: tensor<10xf32> loc("layers_1_b"), %x: tensor<16x32xf32> loc("x")) -> tensor<16x10xf32> {
    %0 = stablehlo.dot_general %x, %layers_0_w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
    %1 = stablehlo.broadcast_in_dim %layers_0_b, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
    %2 = stablehlo.add %0, %1 : tensor<16x64xf32>
    %3 = stablehlo.tanh %2 : tensor<16x64xf32>
    %4 = stablehlo.dot_general %3, %layers_1_w, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x10xf32>) -> tensor<16x10xf32>
    %5 = stablehlo.broadcast_in_dim %layers_1_b, dims = [1] : (tensor<10xf32>) -> tensor<16x10xf32>
    %6 = stablehlo.add %4, %5 : tensor<16x10xf32>
    return %6 : tensor<16x10xf32>
  }
}
`;
