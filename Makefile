# `make` alone says what there is. Every target sets up what it needs, and does nothing twice without cause.
# PYTHON=/path/to/python3 chooses the interpreter (3.11 or newer); see tools/environments.py.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:

# Tests look for libraries in target/release, whatever a user has set for other projects.
export CARGO_TARGET_DIR := $(CURDIR)/target
export PATH := $(PATH):$(HOME)/.cargo/bin
unexport CARGO_BUILD_TARGET
export PYTHON

# What the tools themselves run on; they choose the Pythons of the environments.
TOOL := $(or $(PYTHON),python3)
ENVIRONMENTS = $(TOOL) tools/environments.py
NEWEST = $$($(ENVIRONMENTS) python newest)
OLDEST = $$($(ENVIRONMENTS) python oldest)
# On every processor: most of a test's time is XLA's, which compiles.
PYTEST = -m pytest -q -n auto
# The kernels for their Python package and its scripts: as they are built for this machine, and as the wheel has them.
WITH_KERNELS = PYTHONPATH=kernels/python/src OXIDAX_KERNELS_LIBRARY=$(CURDIR)/target
BUILT = $(WITH_KERNELS)/release/liboxidax_kernels.so
PACKED = $(WITH_KERNELS)/x86_64-unknown-linux-gnu/release/liboxidax_kernels.so
LIBRARIES := -p rms_norm -p lu_pivots -p oxidax_testlib -p linked

.PHONY: help
help:
	@echo "make demo       set up, and run the rms_norm example in JAX"
	@echo "make test       set up, and run every test: Rust, C layout, Python on the oldest and the newest jax"
	@echo "make lint       formatting, clippy and ruff, every warning an error"
	@echo "make format     format everything"
	@echo "make compat     one build of the library on every supported jax that this machine can have"
	@echo "make bench      a handler's cost beside a C++ peer's, and the cost of compiling sixty"
	@echo "make bench-kernels   the kernels' speed beside stock jaxlib's; BENCH='--ops potrf --dtypes f32' chooses"
	@echo "make wheel      the wheels of oxidax and oxidax-kernels, for manylinux_2_28, in target/wheel"
	@echo "make memcheck   the Rust tests that touch raw memory under valgrind; takes hours"
	@echo "make soak       100,000 calls of the kernels from eight threads, on all cores and on one"
	@echo "make clean      remove what was built; make distclean removes the environments too"

.PHONY: demo
demo: toolchain
	@$(ENVIRONMENTS) prepare newest
	cargo build --release --locked -p rms_norm
	$(NEWEST) examples/rms_norm/demo.py

.PHONY: test
test: test-rust test-layout test-python test-kernels
	@echo "test: everything passed"

.PHONY: test-rust
test-rust: toolchain openblas
	cargo test --workspace --locked

.PHONY: test-layout
test-layout: toolchain
	@$(ENVIRONMENTS) prepare oldest newest
	$(TOOL) tools/layout.py oldest newest

.PHONY: test-python
test-python: libraries
	@$(ENVIRONMENTS) prepare oldest newest
	@set -e; for python in "$(OLDEST)" "$(NEWEST)"; do \
	  echo "==> the Python tests and examples, with $$python"; \
	  $$python $(PYTEST) python/tests; \
	  for demo in examples/*/demo.py; do $$python $$demo; done; \
	done

# One build, that of the wheel: on the oldest jax, and as a user has it, in an environment of its own, on the newest.
.PHONY: test-kernels
test-kernels: wheel
	@$(ENVIRONMENTS) prepare oldest newest
	$(PACKED) $(OLDEST) bench/soak.py --calls 2000
	$(PACKED) $(OLDEST) $(PYTEST) kernels/python/tests
	@$(ENVIRONMENTS) fresh target/wheel/env newest target/wheel/*.whl
	target/wheel/env/bin/python bench/soak.py --calls 2000
	target/wheel/env/bin/python $(PYTEST) kernels/python/tests

.PHONY: wheel
wheel: toolchain openblas
	@$(ENVIRONMENTS) prepare wheel
	rm -rf target/wheel
	$$($(ENVIRONMENTS) python wheel) -m build --wheel --no-isolation --outdir target/wheel python
	$$($(ENVIRONMENTS) python wheel) kernels/python/tools/wheel.py target/wheel --glibc 2.28

.PHONY: lint
lint: toolchain openblas
	@$(ENVIRONMENTS) prepare lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	.envs/lint/bin/ruff check .
	.envs/lint/bin/ruff format --check .

.PHONY: format
format: toolchain
	@$(ENVIRONMENTS) prepare lint
	cargo fmt --all
	.envs/lint/bin/ruff check --fix .
	.envs/lint/bin/ruff format .

.PHONY: compat
compat: libraries
	@$(ENVIRONMENTS) prepare all
	$(TOOL) tools/layout.py all
	$(TOOL) tools/compat.py

.PHONY: bench
bench: toolchain
	@$(TOOL) tools/system.py g++ valgrind
	@$(ENVIRONMENTS) prepare newest
	cargo build --release --locked -p oxidax-bench
	$(NEWEST) bench/bench.py

.PHONY: bench-kernels
bench-kernels: kernels
	@$(ENVIRONMENTS) prepare newest
	$(BUILT) $(NEWEST) bench/kernels.py $(BENCH)

# Optimised, as it is shipped, and with the long tests of what is written where.
.PHONY: memcheck
memcheck: export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER := valgrind -q --error-exitcode=9
memcheck: export OXIDAX_MEMCHECK := 1
memcheck: toolchain openblas
	@$(TOOL) tools/system.py valgrind
	cargo test --release --locked -p oxidax --tests -- --test-threads=1
	cargo test --release --locked -p oxidax-kernels --lib --test handlers --test lapack -- --test-threads=1 --include-ignored

.PHONY: soak
soak: kernels
	@$(ENVIRONMENTS) prepare newest
	$(BUILT) $(NEWEST) bench/soak.py --calls 100000
	$(BUILT) $(NEWEST) bench/soak.py --calls 100000 --one-core

.PHONY: libraries
libraries: toolchain
	cargo build --release --locked $(LIBRARIES)
	cargo build --locked -p linked
	cargo build --profile lto --locked -p linked

.PHONY: kernels
kernels: toolchain openblas
	cargo build --release --locked -p oxidax-kernels

# A Python to run the tools on, a linker, and cargo.
.PHONY: toolchain
toolchain:
	@$(TOOL) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(TOOL) is not a Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@command -v cargo >/dev/null || { echo "error: cargo not found: install a Rust toolchain first"; exit 1; }
	@$(TOOL) tools/system.py cc

# The static library under the kernels.
.PHONY: openblas
openblas:
	@$(TOOL) tools/system.py openblas

.PHONY: clean
clean:
	cargo clean

.PHONY: distclean
distclean: clean
	rm -rf .venv .envs
