import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(0)
model = tf.keras.Sequential([
    tf.keras.layers.Input((4,)), tf.keras.layers.Dense(16, activation='relu'),
    tf.keras.layers.Dense(3, activation='softmax')])
f = tf.function(lambda x: model(x, training=False), jit_compile=True)
x = tf.zeros((1, 4))
open('model.mlirbc', 'wb').write(f.experimental_get_compiler_ir(x)(stage='stablehlo_serialized'))
concrete = f.get_concrete_function(x)
variables = {id(v.handle): v.numpy() for v in concrete.variables}
np.savez('model.npz', *[variables[id(handle)] for handle in concrete.captured_inputs])
print(f(tf.constant([[5.1, 3.5, 1.4, 0.2]])).numpy())
