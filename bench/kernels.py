"""Speed of the kernels against stock jaxlib's: `python bench/kernels.py [--ops potrf,qr] [--dtypes f32]`.

Processes take turns at each cell: stock jaxlib, stock once more, ours, and stock with one BLAS thread. A target is
called through `jax.ffi.ffi_call`, with `--end-to-end` through `jax.lax.linalg`, without `OPENBLAS_*` in the
environment; ours are those of the package `oxidax_kernels`. Prints a row a cell: medians over the rounds, ratios of
speed (above 1: faster than stock), and the bars:

- batches from 16x16 to 128x128: 85% of twice the stock one-thread speed, and never slower than stock;
- `geqrf` with `orgqr`, and `gehrd`, of 100 x 128x128: 6 times stock;
- everything: 0.95 times stock.

`same` is stock against stock, and `others` the share of the machine that other programs took meanwhile: a row says as
much as these two are near 1 and 0. Ends with status 1 if a row failed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BATCHES = [(10_000, 4), (10_000, 8), (2_000, 16), (1_000, 32), (100, 64), (100, 128)]
SINGLE = [(1, 256), (1, 512), (1, 1024)]
OPS = ["potrf", "getrf", "qr", "ormqr", "gesdd", "geev", "syevd", "gees", "gehrd", "sytrd", "trsm", "gtsv"]
LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
WORKERS = ["stock", "same", "ours", "one"]

SECONDS = 0.06  # of calls in a worker's turn, at least
TWICE_ONE_THREAD = 1.7
NEVER_UNDER = 0.95
QUIET = 0.05  # of the machine, taken by others
REFLECTORS_128 = 6.0


def is_batch_cell(batch, n):
    return batch > 1 and 16 <= n <= 128


def bars(op, batch, n):
    """What the speed must be: against stock, and against stock on one thread."""
    if not is_batch_cell(batch, n):
        return NEVER_UNDER, None
    against_stock = 1.0
    if op in ("qr", "gehrd") and (batch, n) == (100, 128):
        against_stock = REFLECTORS_128
    return against_stock, TWICE_ONE_THREAD


# The measuring side.


class Worker:
    """One process that measures cells, or stops while another one does."""

    def __init__(self, name):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
        environment.pop("OXIDAX_KERNELS", None)  # stock is stock
        environment.update(JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")
        if name == "one":
            environment["OPENBLAS_NUM_THREADS"] = "1"
        command = [sys.executable, __file__, "--worker", name]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"error: a worker ended: {question}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def taken_seconds():
    """Of all processors since the machine started: by programs here, and by whoever else the machine's host serves."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def measure(workers, cell, rounds, patience):
    """The rounds least disturbed: what others took of the machine, and each worker's seconds a call."""
    for worker in workers.values():
        worker.ask(**cell, prepare=True)
    turns = []
    for turn in range(rounds * patience):
        taken, own, start = taken_seconds(), 0.0, time.monotonic()
        seconds = {}
        for name in list(workers) if turn % 2 == 0 else reversed(workers):
            answer = workers[name].ask(**cell)
            seconds[name] = answer["seconds"]
            own += answer["processor"]
        capacity = (time.monotonic() - start) * os.cpu_count()
        turns.append((max(0.0, taken_seconds() - taken - own) / capacity, seconds))
        turns.sort(key=lambda item: item[0])
        if len(turns) >= rounds and turns[rounds - 1][0] <= QUIET:
            break
    return turns[:rounds]


def measure_afresh(cell, rounds, patience):
    """As `measure`, on workers that are started for it."""
    workers = start_workers()
    turns = measure(workers, cell, rounds, patience)
    close(workers)
    return turns


def start_workers():
    return {name: Worker(name) for name in WORKERS}


def close(workers):
    for worker in workers.values():
        worker.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", default=",".join(OPS))
    parser.add_argument("--dtypes", default="f32,f64")
    parser.add_argument("--cells", default=",".join(f"{batch}x{n}" for batch, n in BATCHES + SINGLE))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--patience", type=int, default=4, help="so many times as many rounds are tried, for undisturbed ones"
    )
    parser.add_argument(
        "--fresh",
        type=int,
        default=0,
        metavar="N",
        help="start new processes N times a cell: one may be a fifth slower than the next for as long as it lives",
    )
    parser.add_argument("--end-to-end", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return serve(options.worker)

    workers = {} if options.fresh else start_workers()
    what = "through jax.lax.linalg" if options.end_to_end else "through jax.ffi.ffi_call"
    afresh = f" in each of {options.fresh} sets of processes" if options.fresh else ""
    print(f"milliseconds a call {what}; medians of {options.rounds} rounds{afresh}; {versions()}")
    print(
        f"{'cell':24} {'stock':>8} {'1 thread':>8} {'ours':>8}   {'x stock':>7} {'x 1 thr':>7}  "
        f"{'same':>5} {'others':>6}   bar"
    )
    failed = 0
    cells = [tuple(map(int, cell.split("x"))) for cell in options.cells.split(",")]
    for op in options.ops.split(","):
        for dtype in options.dtypes.split(","):
            for batch, n in cells:
                cell = {"op": op, "dtype": dtype, "batch": batch, "n": n, "end_to_end": options.end_to_end}
                if options.fresh:
                    sets = [measure_afresh(cell, options.rounds, options.patience) for _ in range(options.fresh)]
                    turns = [turn for turns in sets for turn in turns]
                else:
                    turns = measure(workers, cell, options.rounds, options.patience)
                seconds = {name: statistics.median(seconds[name] for _, seconds in turns) for name in WORKERS}
                others = statistics.mean(others for others, _ in turns)
                ratio = {name: value / seconds["ours"] for name, value in seconds.items()}
                against_stock, against_one = bars(op, batch, n)
                passed = ratio["stock"] >= against_stock and (against_one is None or ratio["one"] >= against_one)
                failed += not passed
                bar = f">= {against_stock:g}" + (f", {against_one:g}" if against_one else "")
                times = " ".join(f"{1e3 * seconds[name]:8.3f}" for name in ("stock", "one", "ours"))
                same = seconds["stock"] / seconds["same"]
                print(
                    f"{op + ' ' + dtype:11} {batch:>6} x {n:<4} {times}   {ratio['stock']:7.2f} {ratio['one']:7.2f}  "
                    f"{same:5.2f} {others:6.0%}   {bar:12} {'PASS' if passed else 'FAIL'}",
                    flush=True,
                )
    close(workers)
    print(f"{failed} rows failed" if failed else "every row passed")
    return 1 if failed else 0


def versions():
    from importlib.metadata import version

    return ", ".join(f"{package} {version(package)}" for package in ("jax", "jaxlib", "scipy"))


# The measured side.


def install():
    """Puts our kernels in the place of jaxlib's, each of them: a warning tells of one that stays jaxlib's."""
    import warnings

    import oxidax_kernels

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        oxidax_kernels.install()


def serve(name):
    """Answers questions about cells, one a line."""
    from jaxlib import lapack

    lapack._lapack.initialize()  # or stock handlers have no LAPACK to call
    if name == "ours":
        install()
    current, call = None, None
    for line in sys.stdin:
        question = json.loads(line)
        prepare = question.pop("prepare", False)
        if question != current:
            current, call = question, cell_call(**question)
            call()
        if prepare:
            print("{}", flush=True)
            continue
        seconds = []
        processor, start = time.process_time(), time.perf_counter()
        while time.perf_counter() - start < SECONDS or len(seconds) < 2:
            before = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - before)
        come_to_rest()
        processor = time.process_time() - processor
        print(json.dumps({"seconds": statistics.median(seconds), "processor": processor}), flush=True)
    return 0


def come_to_rest():
    """Waits until this process takes no processor any more: BLAS threads spin on, in the next worker's time."""
    taken = -1.0
    while time.process_time() - taken > 0.001:
        taken = time.process_time()
        time.sleep(0.01)


def cell_call(op, dtype, batch, n, end_to_end):
    """A function that computes a cell once, and waits for it."""
    import jax
    import numpy as np

    scalar = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}[dtype]
    shape = (batch, n, n) if batch > 1 else (n, n)
    random = np.random.default_rng(0)
    a = random.standard_normal(shape).astype(scalar)
    if np.iscomplexobj(a):
        a = (a + 1j * random.standard_normal(shape)).astype(scalar)
    function = jax.jit(END_TO_END[op] if end_to_end else TARGETS[op](LETTERS[dtype]))
    operands = jax.device_put([x.astype(scalar) for x in OPERANDS.get(op, lambda a: [a])(a)])
    return lambda: jax.block_until_ready(function(*operands))


def _definite(a):
    import numpy as np

    n = a.shape[-1]
    return [a @ a.swapaxes(-1, -2).conj() + n * np.eye(n)]


def _reflectors(a):
    import numpy as np

    # NumPy's raw factors lie in memory as LAPACK's.
    return [*np.linalg.qr(a, mode="raw"), a]


def _triangle(a):
    import numpy as np

    n = a.shape[-1]
    return [a / n + 2 * np.eye(n), a]


def _diagonals(a):
    return [a[..., 0, :], a[..., 1, :] + 4, a[..., 2, :], a[..., :1, :]]


def _hermitian(a):
    return [a + a.swapaxes(-1, -2).conj()]


OPERANDS = {
    "potrf": _definite,
    "ormqr": _reflectors,
    "syevd": _hermitian,
    "sytrd": _hermitian,
    "trsm": _triangle,
    "gtsv": _diagonals,
}


def target(name, *results, aliases=None, **attributes):
    """A call of a target, with its first operand in the place of its first result unless `aliases` says otherwise.

    Matrices are taken as they lie in memory, so that nothing but the target runs.
    """
    import jax

    call = jax.ffi.ffi_call(
        name, results, vmap_method="broadcast_all", input_output_aliases={0: 0} if aliases is None else aliases
    )
    return lambda *operands: call(*operands, **attributes)


def _like(a, *core, dtype=None):
    import jax

    return jax.ShapeDtypeStruct((*a.shape[:-2], *core), dtype or a.dtype)


def _byte(letter):
    import numpy as np

    return np.uint8(ord(letter))


def _potrf(letter):
    def call(a):
        n = a.shape[-1]
        return target(f"lapack_{letter}potrf_ffi", _like(a, n, n), _like(a, dtype="int32"), uplo=_byte("L"))(a)

    return call


def _getrf(letter):
    def call(a):
        n = a.shape[-1]
        results = _like(a, n, n), _like(a, n, dtype="int32"), _like(a, dtype="int32")
        return target(f"lapack_{letter}getrf_ffi", *results)(a)

    return call


def _qr(letter):
    def call(a):
        n = a.shape[-1]
        packed, tau = target(f"lapack_{letter}geqrf_ffi", _like(a, n, n), _like(a, n))(a)
        name = f"lapack_{letter}{'orgqr' if letter in 'sd' else 'ungqr'}_ffi"
        return packed, *target(name, _like(a, n, n))(packed, tau)

    return call


def _ormqr(letter):
    def call(a, tau, c):
        name = f"lapack_{letter}{'ormqr' if letter in 'sd' else 'unmqr'}_ffi"
        return target(name, _like(c, *c.shape[-2:]), aliases={2: 0}, left=True, transpose=True)(a, tau, c)

    return call


def _trsm(letter):
    def call(a, b):
        letters = {"side": "L", "uplo": "L", "trans_x": "N", "diag": "N"}
        attributes = {name: _byte(value) for name, value in letters.items()}
        return target(f"lapack_{letter}trsm_ffi", _like(b, *b.shape[-2:]), aliases={1: 0}, **attributes)(a, b)

    return call


def _gtsv(letter):
    def call(dl, d, du, b):
        n = d.shape[-1]
        # One right-hand side, which lies in memory as a row and as a column.
        b = b.reshape(*b.shape[:-2], n, 1)
        results = [*[_like(b, n)] * 3, _like(b, n, 1), _like(b, dtype="int32")]
        aliases = {i: i for i in range(4)}
        return target(f"lapack_{letter}gtsv_ffi", *results, aliases=aliases)(dl, d, du, b)

    return call


def _real(a):
    import numpy as np

    return np.finfo(a.dtype).dtype


def _complex(a):
    import numpy as np

    return np.result_type(a.dtype, np.complex64)


def _gesdd(letter):
    def call(a):
        n = a.shape[-1]
        results = _like(a, n, n), _like(a, n, dtype=_real(a)), _like(a, n, n), _like(a, n, n), _like(a, dtype="int32")
        return target(f"lapack_{letter}gesdd_ffi", *results, mode=_byte("S"))(a)

    return call


def _geev(letter):
    def call(a):
        n = a.shape[-1]
        values = [_like(a, n)] * 2 if letter in "sd" else [_like(a, n)]
        vectors = [_like(a, n, n, dtype=_complex(a))] * 2
        return target(
            f"lapack_{letter}geev_ffi",
            *values,
            *vectors,
            _like(a, dtype="int32"),
            aliases={},
            compute_left=_byte("N"),
            compute_right=_byte("V"),
        )(a)

    return call


def _syevd(letter):
    def call(a):
        n = a.shape[-1]
        name = f"lapack_{letter}{'syevd' if letter in 'sd' else 'heevd'}_ffi"
        results = _like(a, n, n), _like(a, n, dtype=_real(a)), _like(a, dtype="int32")
        return target(name, *results, mode=_byte("V"), uplo=_byte("L"))(a)

    return call


def _gees(letter):
    def call(a):
        n = a.shape[-1]
        values = [_like(a, n)] * 2 if letter in "sd" else [_like(a, n)]
        integers = [_like(a, dtype="int32")] * 2
        results = _like(a, n, n), _like(a, n, n), *values, *integers
        return target(f"lapack_{letter}gees_ffi", *results, mode=_byte("V"), sort=_byte("N"))(a)

    return call


def _gehrd(letter):
    def call(a):
        import numpy as np

        n = a.shape[-1]
        results = _like(a, n, n), _like(a, n - 1), _like(a, dtype="int32")
        return target(f"lapack_{letter}gehrd_ffi", *results, low=np.int32(1), high=np.int32(n))(a)

    return call


def _sytrd(letter):
    def call(a):
        n = a.shape[-1]
        name = f"lapack_{letter}{'sytrd' if letter in 'sd' else 'hetrd'}_ffi"
        diagonals = _like(a, n, dtype=_real(a)), _like(a, n - 1, dtype=_real(a))
        results = _like(a, n, n), *diagonals, _like(a, n - 1), _like(a, dtype="int32")
        return target(name, *results, uplo=_byte("L"))(a)

    return call


TARGETS = {
    "potrf": _potrf,
    "getrf": _getrf,
    "qr": _qr,
    "ormqr": _ormqr,
    "gesdd": _gesdd,
    "geev": _geev,
    "syevd": _syevd,
    "gees": _gees,
    "gehrd": _gehrd,
    "sytrd": _sytrd,
    "trsm": _trsm,
    "gtsv": _gtsv,
}


def _end_to_end(name, **options):
    def call(*operands):
        from jax.lax import linalg

        return getattr(linalg, name)(*operands, **options)

    return call


END_TO_END = {
    "potrf": _end_to_end("cholesky", symmetrize_input=False),
    "getrf": _end_to_end("lu"),
    "qr": _end_to_end("qr", full_matrices=False),
    "gesdd": _end_to_end("svd", full_matrices=False),
    "geev": _end_to_end("eig", compute_left_eigenvectors=False),
    "syevd": _end_to_end("eigh", symmetrize_input=False),
    "gees": _end_to_end("schur"),
    "gehrd": _end_to_end("hessenberg"),
    "sytrd": _end_to_end("tridiagonal"),
    "ormqr": _end_to_end("ormqr", left=True, transpose=True),
    "trsm": _end_to_end("triangular_solve", left_side=True, lower=True),
    "gtsv": lambda dl, d, du, b: _end_to_end("tridiagonal_solve")(dl, d, du, b.swapaxes(-1, -2)),
}


if __name__ == "__main__":
    sys.exit(main())
