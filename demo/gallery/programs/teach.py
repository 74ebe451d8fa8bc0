import flax.linen as nn
import jax


class Digits(nn.Module):
    @nn.compact
    def __call__(self, image):  # [28, 28]
        x = image[..., None]
        for features in (8, 16):
            x = nn.max_pool(nn.relu(nn.Conv(features, (3, 3))(x)), (2, 2), (2, 2))
        x = nn.relu(nn.Dense(32)(x.reshape(-1)))
        return nn.Dense(10)(x)  # a score for each digit


def forward(variables, image):
    """Only this is exported: no gradient, no batch."""
    return Digits().apply(variables, image)


# --- Shapes
IMAGE = 'f32[28,28]'
VARIABLES = jax.eval_shape(Digits().init, jax.random.key(0), jax.ShapeDtypeStruct((28, 28), 'float32'))
PROGRAMS = {'forward': (forward, [jax.tree.map(lambda w: f'f32[{",".join(map(str, w.shape))}]', VARIABLES), IMAGE])}
