"""JAX's own linear algebra on the kernels of Oxidax.

``oxidax_kernels.install()``, before the first JAX computation, makes ``jnp.linalg``, ``jax.scipy.linalg`` and exported
programs decompose matrices on these kernels, and ``jax.experimental.sparse`` multiply them. Programs that cannot be
edited: the environment variable ``OXIDAX_KERNELS=1``. ``python -m oxidax_kernels`` says what is installed.

``oxidax_kernels.ops`` has the same kernels as operations of their own, such as ``ops.cholesky``.

Nothing here imports JAX.
"""

from oxidax_kernels import ops
from oxidax_kernels._install import install, installed, uninstall

__version__ = "0.1.0"

__all__ = ["install", "installed", "ops", "uninstall"]
