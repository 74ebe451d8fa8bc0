import jax, jax.numpy as jnp

f = jax.jit(lambda x: jnp.sin(x) * 2)
text = f.lower(jnp.zeros(4)).compiler_ir(dialect='hlo').as_hlo_text(print_large_constants=True)
open('f.hlo', 'w').write(text)
