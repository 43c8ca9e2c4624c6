"""``python -m oxidax LIBRARY``: what a library holds, and whether this JAX accepts it.

Exit code: 0 when every handler is accepted or has no device here, 1 when something is refused, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

import oxidax
from oxidax import _jax
from oxidax._inference import show_rule
from oxidax._manifest import Buffer, Definition, Instance
from oxidax._operation import Operation


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m oxidax",
        description="Lists the operations of a library and checks that XLA accepts its handlers.",
        epilog="Exit code: 0 accepted, 1 refused, 2 wrong usage.",
    )
    parser.add_argument(
        "libraries", nargs="*", metavar="LIBRARY", help="a shared library with #[ffi_handler] functions"
    )
    parser.add_argument("--version", action="version", version=f"oxidax {oxidax.__version__}")
    paths = parser.parse_args(arguments).libraries
    jax, jaxlib = _jax.versions()
    api = _jax.show_version(_jax.api_version())
    print(f"oxidax {oxidax.__version__}, jax {jax}, jaxlib {jaxlib}, XLA FFI API {api}")
    return max([_report(path) for path in paths], default=0)


def _report(path: str) -> int:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            library = oxidax.load(path)
    except OSError as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    print(f"\n{library.__file__}: {len(library)} operations")
    if library.replacements:
        print(f"  and handlers in the place of other libraries': {', '.join(sorted(library.replacements))}")
    for warning in caught:
        print(f"  warning: {warning.message}")
    return max([_describe(operation) for operation in library], default=0)


def _describe(operation: Operation) -> int:
    definition = operation.definition
    print(f"\n  {operation.__name__}{operation.__signature__}")
    for index, instance in enumerate(definition.instances):
        lead = "   " if index == 0 else " or"
        arguments, results = (_buffers(definition, instance, b) for b in (definition.arguments, definition.results))
        print(f"  {lead} {arguments} -> {results}")
    print(f'      target "{operation.target}", batch = {definition.batch}')
    code = 0
    for platform in operation.platforms:
        version = operation.handler(platform).probe()
        words = version if isinstance(version, str) else f"FFI API {_jax.show_version(version)}"
        try:
            state = "accepted" if operation.check_registration(platform) else "no such device here"
        except oxidax.LoadError as error:
            state, code = f"refused: {error}", 1
        print(f"      {platform}: {words}, {state}")
    return code


def _buffers(definition: Definition, instance: Instance, buffers: Sequence[Buffer]) -> str:
    return ", ".join(f"{b.name}: {instance.dtypes[b.name]} {show_rule(definition, b)}" for b in buffers) or "()"


if __name__ == "__main__":
    sys.exit(main())
