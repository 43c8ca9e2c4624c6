"""Soak: JAX's linear algebra on our kernels, from many threads: `python bench/soak.py [--calls N] [--one-core]`.

Eight Python threads call every operation, type and shape below in random order; every second one multiplies NumPy
matrices in between, on NumPy's own OpenBLAS. Each result must equal, bit for bit, what the same call gave before there
were threads, and that is compared with the matrix in double precision. The process must not grow, and must not stop: a
minute without a finished call ends it with the stacks of all threads and status 1.
"""

import argparse
import faulthandler
import os
import random
import sys
import threading
import time
from pathlib import Path

from kernels import install

THREADS = 8
SHAPES = [(4, 4), (3, 17, 17), (200, 8, 8), (65, 65), (40, 33, 33), (2, 3, 20, 10), (5, 10, 20)]
STALLED = 60.0  # seconds without a call
WARM_UP = 0.3  # of the calls, before memory is looked at
GROWTH = 24  # MiB, at most, from there on
RESIDUAL = 40.0  # units of eps, relative to the size


def resident():
    """MiB of memory that the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def adjoint(a):
    return a.swapaxes(-1, -2).conj()


def from_cholesky(np, results):
    (factor,) = results
    return factor @ adjoint(factor)


def from_lu(np, results):
    lu, _, permutation = results
    m, n = lu.shape[-2:]
    k = min(m, n)
    lower = np.tril(lu[..., :k], -1) + np.eye(m, k)
    product = lower @ np.triu(lu[..., :k, :])
    return np.take_along_axis(product, np.argsort(permutation)[..., None], axis=-2)


def from_qr(np, results):
    q, r = results
    return q @ r


def from_svd(np, results):
    u, s, vh = results
    return (u * s[..., None, :]) @ vh


def from_eig(np, results):
    w, v = results
    return (v * w[..., None, :]) @ np.linalg.inv(v)


def operations(linalg):
    """By name: the operation, what makes the matrix of its results, and whether that must be square."""
    return {
        "cholesky": (lambda a: (linalg.cholesky(a, symmetrize_input=False),), from_cholesky, True),
        "lu": (linalg.lu, from_lu, False),
        "qr": (lambda a: linalg.qr(a, full_matrices=False), from_qr, False),
        "svd": (lambda a: linalg.svd(a, full_matrices=False), from_svd, False),
        "eig": (lambda a: linalg.eig(a, compute_left_eigenvectors=False), from_eig, True),
    }


class Case:
    """A compiled call, with what it must give."""

    def __init__(self, name, operation, product, scalar, shape, spoiled):
        import jax
        import numpy as np

        self.what = f"{name} {np.dtype(scalar)} {shape}{' with NaN' if spoiled else ''}"
        n = max(shape[-2:])
        generator = np.random.default_rng(abs(hash(shape)) % 1000)
        a = generator.standard_normal(shape)
        if np.dtype(scalar).kind == "c":
            a = a + 1j * generator.standard_normal(shape)
        if name == "cholesky":
            a = a @ adjoint(a) + n * np.eye(n)
        a = a.astype(scalar)
        if spoiled:
            a[..., 0, 0] = np.nan
        self.operand = jax.device_put(a)
        self.call = jax.jit(operation).lower(self.operand).compile()
        results = self.results()
        self.expected = [x.tobytes() for x in results]
        if spoiled:
            return
        wide = [x.astype(np.result_type(x, np.float64)) if x.dtype.kind in "fc" else x for x in results]
        difference = np.linalg.norm(product(np, wide) - a, axis=(-2, -1)) / np.linalg.norm(a, axis=(-2, -1))
        units = difference.max() / (np.finfo(scalar).eps * n)
        # Eigenvectors are inverted, which costs their condition.
        if not units < RESIDUAL * (1000 if name == "eig" else 1):
            sys.exit(f"error: {self.what}: a residual of {units:.1f} units of eps")

    def results(self):
        import numpy as np

        return [np.asarray(x) for x in self.call(self.operand)]

    def check(self):
        return [x.tobytes() for x in self.results()] == self.expected


def cases():
    import numpy as np
    from jax.lax import linalg

    made = []
    for name, (operation, product, square) in operations(linalg).items():
        for scalar in (np.float32, np.float64, np.complex64, np.complex128):
            for shape in SHAPES:
                if shape[-1] == shape[-2] or not square:
                    made.append(Case(name, operation, product, scalar, shape, spoiled=False))
            made.append(Case(name, operation, product, scalar, (3, 5, 5), spoiled=True))
    return made


class Soak:
    def __init__(self, made, calls):
        self.cases = made
        self.left = calls
        self.done = 0
        self.wrong = []
        self.lock = threading.Lock()

    def take(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0 and not self.wrong

    def work(self, number):
        import numpy as np

        order = random.Random(number)
        a = np.random.default_rng(number).standard_normal((160, 160))
        square = a @ a
        while self.take():
            case = order.choice(self.cases)
            right = case.check()
            if number % 2 and not np.allclose(a @ a, square, rtol=1e-12, atol=1e-12):
                right, case = False, None
            with self.lock:
                self.done += 1
                if not right:
                    self.wrong.append(case.what if case else "NumPy's product")

    def run(self):
        """Until all calls are made; the growth of memory since it was warm, in MiB."""
        total, warm = self.left, None
        threads = [threading.Thread(target=self.work, args=(number,), daemon=True) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        last, since = 0, time.monotonic()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.05)
            if self.done > last:
                last, since = self.done, time.monotonic()
            if warm is None and self.done >= WARM_UP * total:
                warm = resident()
            if time.monotonic() - since > STALLED:
                print(f"error: no call has ended for {STALLED:.0f} s, after {self.done}", flush=True)
                faulthandler.dump_traceback(all_threads=True)
                os._exit(1)
        return resident() - (warm or resident())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--one-core", action="store_true", help="as under `taskset -c 0`")
    options = parser.parse_args()
    if options.one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ.update(JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # only the kernels are of interest
    install()
    made = cases()
    start = time.monotonic()
    soak = Soak(made, options.calls)
    growth = soak.run()
    cores = len(os.sched_getaffinity(0))
    print(
        f"soak: {soak.done} calls of {len(made)} kinds from {THREADS} threads on {cores} core(s) in "
        f"{time.monotonic() - start:.0f} s; memory grew by {growth:.1f} MiB"
    )
    if soak.wrong:
        sys.exit(f"error: wrong results: {sorted(set(soak.wrong))}")
    if growth > GROWTH:
        sys.exit(f"error: memory grew by more than {GROWTH} MiB")


if __name__ == "__main__":
    main()
