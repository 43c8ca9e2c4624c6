"""Compares core's mirror of XLA's C API with the real `xla/ffi/api/c_api.h` of installed jaxlibs.

    layout.py NAME...      names of environments, as environments.py knows them

`cargo run -p oxidax --example c_layout` prints the mirror, an item a line: `XLA_FFI_Buffer.rank 32 8` (offset and
size), `sizeof XLA_FFI_Buffer 48`, `enum XLA_FFI_DataType_F32 11`. The same items are asked of the header by a C
program. They must agree, but for what the tables below say; what these say is checked too, so that no row outlives
the difference that it is for.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import environments

# A name of the mirror, the first jaxlib whose header has another one, and that name.
RENAMED = [
    ("XLA_FFI_Extension_Base", "0.11.1", "XLA_FFI_InternalExtension"),
    ("XLA_FFI_Api.XLA_FFI_Error_GetMessage", "0.11.1", "XLA_FFI_Api.XLA_FFI_Error_GetDetails"),
    ("XLA_FFI_Api.XLA_FFI_TypeId_Register", "0.8.1", "XLA_FFI_Api.XLA_FFI_Type_Register"),
    ("XLA_FFI_Api.XLA_FFI_ExecutionContext_Get", "0.11.1", "XLA_FFI_Api.XLA_FFI_InvokeContext_Get"),
]

# An item of the mirror, and what headers say of it from a jaxlib on, until the next row for it. (ABI_FACTS 1)
DIFFERENT = [
    # The mirror has the prefix that never changed.
    ("sizeof XLA_FFI_Api", "0.5.1", "184"),
    ("sizeof XLA_FFI_Api", "0.6.0", "192"),
    ("sizeof XLA_FFI_Api", "0.11.1", "200"),
    ("sizeof XLA_FFI_Api", "0.12.0", "208"),
    # `state_type_id` came last; the mirror does without.
    ("sizeof XLA_FFI_Metadata", "0.8.0", "48"),
    # `record` came last; every version takes the bundle of four, which is told by its size.
    ("sizeof XLA_FFI_Handler_Bundle", "0.11.1", "40"),
    ("sizeof XLA_FFI_Handler_Register_Args", "0.11.1", "96"),
    ("XLA_FFI_Handler_Register_Args.bundle", "0.11.1", "48 40"),
    ("XLA_FFI_Handler_Register_Args.traits", "0.11.1", "88 4"),
]


def version_key(version):
    return [int(part) for part in version.split(".")]


def header_name(item, version):
    """What an item of the mirror is called in the header of a jaxlib."""
    for old, since, new in RENAMED:
        if version_key(version) >= version_key(since):
            item = re.sub(rf"{re.escape(old)}(?=$|\.)", new, item)
    return item


def differences(version):
    """{item: what this jaxlib's header says of it}"""
    return {item: value for item, since, value in DIFFERENT if version_key(version) >= version_key(since)}


def probe(item):
    """The C statement that prints an item's value."""
    if item.startswith("enum "):
        return f'printf("%lld\\n", (long long)({item.removeprefix("enum ")}));'
    if item.startswith("sizeof "):
        return f'printf("%zu\\n", sizeof({item.removeprefix("sizeof ")}));'
    struct, field = item.split(".")
    return f'printf("%zu %zu\\n", offsetof({struct}, {field}), sizeof((({struct}*)0)->{field}));'


def ask_header(items, include):
    """{item: value, None where the header has no such item}"""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.c"), Path(folder, "probe")
        compiler = ["cc", "-std=c11", "-w", "-fmax-errors=0", "-isystem", str(include), str(source)]

        def write(probed):
            """One probe a line, so that an error's line tells the item."""
            head = "#include <stdio.h>\n#include <stddef.h>\n"
            head += '#include "xla/ffi/api/c_api.h"\nint main(void) {\n'
            source.write_text(head + "".join(probe(item) + "\n" for item in probed) + "return 0; }\n")
            return head.count("\n") + 1

        first = write(items)
        report = subprocess.run([*compiler, "-fsyntax-only"], capture_output=True, text=True, check=False).stderr
        broken = {int(line) - first for line in re.findall(r"probe\.c:(\d+):\d+: error:", report)}
        if any(not 0 <= index < len(items) for index in broken):
            sys.exit(f"error: the probe does not compile\n{report}")
        known = [item for index, item in enumerate(items) if index not in broken]
        write(known)
        subprocess.run([*compiler, "-o", str(program)], check=True)
        values = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return {**dict.fromkeys(items), **dict(zip(known, values, strict=True))}


def mirror():
    """{item: value} of core's mirror."""
    command = ["cargo", "run", "--quiet", "--locked", "-p", "oxidax", "--example", "c_layout"]
    lines = subprocess.run(command, cwd=environments.ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    items = {}
    for line in lines.splitlines():
        words = line.split()
        name = 2 if words[0] in ("enum", "sizeof") else 1
        items[" ".join(words[:name])] = " ".join(words[name:])
    return items


def check(name, items):
    """Prints what is wrong for one environment; the number of such lines."""
    python = environments.place(name) / "bin" / "python"
    script = "import jaxlib, jax.ffi; print(jaxlib.__version__); print(jax.ffi.include_dir())"
    version, include = subprocess.run(
        [python, "-c", script], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()

    listed = differences(version)
    wrong = [f"tools/layout.py lists {item}, which the mirror does not have" for item in listed if item not in items]
    names = {item: header_name(item, version) for item in items}
    answers = ask_header(list(names.values()), include)
    for item, value in items.items():
        expected, actual = listed.get(item, value), answers[names[item]]
        if actual is None:
            wrong.append(f"{item}: the header has no {names[item]}")
        elif actual != expected:
            wrong.append(f"{item}: mirror {value}, expected of this header {expected}, found {actual}")
    for line in wrong:
        print(f"  jaxlib {version}: {line}")
    apart = sum(item in items and items[item] != value for item, value in listed.items())
    print(
        f"layout: jaxlib {version}: {len(items)} items, {apart} differ as listed, {len(wrong)} wrong",
        flush=True,
    )
    return len(wrong)


def main(names):
    items = mirror()
    if len(items) < 50:
        sys.exit(f"error: the example c_layout printed only {len(items)} items")
    wrong = [check(each, items) for name in names for each in environments.resolve(name)]
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
