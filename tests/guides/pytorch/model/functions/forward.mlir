module @IrToHlo.20 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3x16xf32>, %arg2: tensor<16xf32>, %arg3: tensor<16x4xf32>, %arg4: tensor<1x4xf32>) -> tensor<1x3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<1x16xf32>
    %0 = stablehlo.transpose %arg3, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[4,16]{0,1}"} : (tensor<16x4xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.dot_general %arg4, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x4xf32>, tensor<4x16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.reshape %arg2 : (tensor<16xf32>) -> tensor<1x16xf32>
    %3 = stablehlo.add %1, %2 : tensor<1x16xf32>
    %4 = stablehlo.maximum %3, %cst : tensor<1x16xf32>
    %5 = stablehlo.transpose %arg1, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[16,3]{0,1}"} : (tensor<3x16xf32>) -> tensor<16x3xf32>
    %6 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x16xf32>, tensor<16x3xf32>) -> tensor<1x3xf32>
    %7 = stablehlo.reshape %arg0 : (tensor<3xf32>) -> tensor<1x3xf32>
    %8 = stablehlo.add %6, %7 : tensor<1x3xf32>
    return %8 : tensor<1x3xf32>
  }
}
