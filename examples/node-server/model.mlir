// Which of three kinds is a flower? A linear model of four lengths, for 32 flowers at a time.
func.func @main(%x: tensor<32x4xf32> loc("x")) -> tensor<32x3xf32> {
  %w = stablehlo.constant dense<[[0.4, 0.4, -1.7], [1.4, -1.6, -1.5], [-2.3, 0.5, 2.4], [-1.0, -1.2, 2.5]]> : tensor<4x3xf32>
  %bias = stablehlo.constant dense<[0.3, 1.1, -1.2]> : tensor<3xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x4xf32>, tensor<4x3xf32>) -> tensor<32x3xf32>
  %b = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<3xf32>) -> tensor<32x3xf32>
  %s = stablehlo.add %h, %b : tensor<32x3xf32>
  %e = stablehlo.exponential %s : tensor<32x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x3xf32>, tensor<f32>) -> tensor<32xf32>
  %n = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<32xf32>) -> tensor<32x3xf32>
  %p = stablehlo.divide %e, %n : tensor<32x3xf32>
  return %p : tensor<32x3xf32>
}
