"""Times a call inside a jitted loop, for `make bench`: nanoseconds a call of the floor, the C++ peer and ours.

    jitted_loop.py PEER OURS

Each handler is called through `jax.ffi.ffi_call`, so that what differs between the rows is the handler alone; ours is
registered by `oxidax.load`. Every call depends on the one before it. Output: one line `name nanoseconds` a handler.
"""

import ctypes
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import oxidax

CALLS = 100_000
ROUNDS = 25
LENGTH = 16


def looped(target, extra_operands, attributes):
    """A jitted function that calls `target` CALLS times, each time on its own last result."""
    operands = [jnp.zeros(LENGTH, np.float32)] * extra_operands
    call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((LENGTH,), np.float32))

    @jax.jit
    def run(x):
        return jax.lax.fori_loop(0, CALLS, lambda _, x: call(x, *operands, **attributes), x)

    return run


def main(peer, ours):
    library = ctypes.CDLL(peer)
    for name in ("floor_handler", "one", "six"):
        jax.ffi.register_ffi_target(f"peer.{name}", jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    oxidax.load(ours)

    attributes = {"eps": np.float32(0.5), "k": np.int64(3), "up": True, "mode": "abc"}
    runs = {
        "floor": looped("peer.floor_handler", 0, {}),
        "peer:one": looped("peer.one", 0, {}),
        "ours:one": looped("oxidax_bench.one", 0, {}),
        "floor:six": looped("peer.floor_handler", 2, attributes),
        "peer:six": looped("peer.six", 2, attributes),
        "ours:six": looped("oxidax_bench.six", 2, attributes),
    }
    x = jnp.ones(LENGTH, np.float32)
    for run in runs.values():
        jax.block_until_ready(run(x))

    times = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter_ns()
            jax.block_until_ready(run(x))
            times[name].append((time.perf_counter_ns() - start) / CALLS)
    for name, samples in times.items():
        print(name, f"{statistics.median(samples):.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
