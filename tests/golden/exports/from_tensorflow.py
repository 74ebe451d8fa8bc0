#!/usr/bin/env python3
"""Writes tensorflow.gz: functions that TensorFlow compiles by XLA, as it hands them out.

    pip install tensorflow-cpu==2.21.0
    python from_tensorflow.py

Variables are parameters of the program after the arguments, in the order of the function's captures.
"""

import numpy as np
import tensorflow as tf

from writer import Writer

writer = Writer()
STAGES = ('hlo_serialized', 'stablehlo', 'stablehlo_serialized')


def add(name, f, *args):
  function = tf.function(f, jit_compile=True)
  results = tf.nest.flatten(function(*args))
  concrete = function.get_concrete_function(*args)
  variables = [v.numpy() for tensor in concrete.captured_inputs
               for v in concrete.variables if v.handle is tensor]
  for stage in STAGES:
    program = function.experimental_get_compiler_ir(*args)(stage=stage)
    program = program.encode() if isinstance(program, str) else program
    arguments = [np.asarray(arg) for arg in args] + variables
    writer.add(f'{name}-{stage}', program, arguments, [np.asarray(r) for r in results])


tf.keras.utils.set_random_seed(0)
layers = tf.keras.layers
cnn = tf.keras.Sequential([
    layers.Input((8, 8, 3)), layers.Conv2D(4, 3, activation='relu'), layers.BatchNormalization(),
    layers.MaxPool2D(), layers.Flatten(), layers.Dense(5, activation='softmax')])
add('cnn', lambda x: cnn(x, training=False), tf.random.normal((2, 8, 8, 3)))
lstm = tf.keras.Sequential([
    layers.Input((6,)), layers.Embedding(20, 8), layers.LSTM(8), layers.LayerNormalization(),
    layers.Dense(3)])
add('lstm', lambda x: lstm(x), tf.constant([[1, 2, 3, 4, 5, 6]]))


def functions(a):
  product = tf.linalg.matmul(a, a, transpose_b=True)
  return (product, tf.math.top_k(a, 2), tf.sort(a, axis=1), tf.math.lgamma(tf.abs(a) + 1), tf.cumsum(a),
          tf.linalg.cholesky(product + tf.eye(4)), tf.signal.rfft(a),
          tf.image.resize(a[None, :, :, None], (7, 7)), tf.where(a > 0, a, 0), tf.one_hot([1, 2], 4),
          tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * 2), [0, a]))


add('functions', functions, tf.random.normal((4, 4)))
writer.write('tensorflow.gz')
