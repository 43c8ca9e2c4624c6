"""Looks into a library file before it is opened, for opening runs whatever code the file holds."""

from __future__ import annotations

import platform
import struct

SYMBOL = "oxidax_manifest"
_ELF_MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64", 40: "armv7l", 3: "i686"}
_MACH_O = {b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}
_CARGO = 'set crate-type = ["cdylib"] in its Cargo.toml, build it, and load the .so file'


def refusal(content: bytes) -> str | None:
    """Why the file cannot be one of our libraries, and what to do; None where it can."""
    if content[:4] == b"\x7fELF":
        return _elf_refusal(content)
    if content[:4] in _MACH_O:
        return None if b"_" + SYMBOL.encode() + b"\0" in content else _no_symbol("library")
    if content[:8] == b"!<arch>\n":
        return f"this is a static library: {_CARGO}"
    if not content:
        return "the file is empty: build the library again"
    return "this is not a shared library: give the path of the .so that cargo built (target/release/lib<crate>.so)"


def _no_symbol(kind: str) -> str:
    return (
        f"this {kind} does not export `{SYMBOL}`, so it holds no operation: "
        f"put #[ffi_handler] on a function of the crate, depend on the crate oxidax, and {_CARGO}"
    )


def _elf_refusal(content: bytes) -> str | None:
    try:
        if content[4:6] != b"\x02\x01":
            return "this library is not for a 64-bit little-endian machine: build it for this one"
        machine = _ELF_MACHINES.get(struct.unpack_from("<H", content, 18)[0], "another machine")
        if machine != platform.machine():
            return f"this library is for {machine}, and this machine is {platform.machine()}: build it here"
        if SYMBOL.encode() not in _exported(content):
            return _no_symbol("file" if struct.unpack_from("<H", content, 16)[0] != 3 else "library")
    except (struct.error, IndexError, ValueError):
        return "this library is cut short or damaged: build it again"
    return None


def _exported(content: bytes) -> set[bytes]:
    """The defined names of an ELF file's dynamic symbol table."""
    table, entry, count = struct.unpack_from("<Q", content, 40)[0], *struct.unpack_from("<HH", content, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, table + i * entry) for i in range(count)]
    names = set()
    for _, kind, _, _, offset, size, link, _, _, step in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        strings = sections[link][4]
        for at in range(offset, offset + size, step or 24):
            name, _, _, section = struct.unpack_from("<IBBH", content, at)
            if section:  # 0: an import
                names.add(content[strings + name : content.index(b"\0", strings + name)])
    return names
