import jax
import jax.numpy as jnp


def conv(x, w, b):
    y = jax.lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
    y = jax.nn.relu(y + b)
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')


def scores(w, images):  # [n, 28, 28]
    x = conv(images[..., None], w['conv1'], w['bias1'])  # 14 x 14 x 8
    x = conv(x, w['conv2'], w['bias2'])  # 7 x 7 x 16
    x = jax.nn.relu(x.reshape(len(x), -1) @ w['dense1'] + w['bias3'])
    return x @ w['dense2'] + w['bias4']


def digits(w, image):
    """The probability of each digit; and how much each pixel counts for the best one."""
    w = jax.tree.map(lambda x: x.astype('float32'), w)
    _, slope = jax.value_and_grad(lambda i: jnp.max(scores(w, i[None])[0]))(image)
    return jax.nn.softmax(scores(w, image[None])[0]), slope


SHAPES = dict(conv1=(3, 3, 1, 8), bias1=(8,), conv2=(3, 3, 8, 16), bias2=(16,),
              dense1=(784, 32), bias3=(32,), dense2=(32, 10), bias4=(10,))
PROGRAMS = {'step': (digits, [{name: f'f16[{",".join(map(str, shape))}]' for name, shape in SHAPES.items()}, 'f32[28,28]'])}
