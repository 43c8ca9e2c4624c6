"""Small libraries in C with a hand-written manifest, for what no Rust library says: damaged, too new, refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_SOURCE = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
struct base { size_t size; int32_t type; struct base *next; };
struct version { size_t size; void *extension; int32_t major, minor; };
struct metadata { size_t size; struct version version; };
struct extension { struct base base; struct metadata *metadata; };
struct buffer { size_t size; void *extension; int32_t dtype; void *data; int64_t rank; int64_t *dims; };
struct args { size_t size; void *extension; int64_t count; int32_t *types; struct buffer **values; };
struct frame { size_t size; struct base *extension; void *api, *context; int32_t stage; struct args args, rets; };
static int asked; /* how often a version was; MINOR may depend on it */
static void *handler(struct frame *frame) {
    for (struct base *e = frame->extension; e; e = e->next)
        if (e->type == 1) {
            struct version *v = &((struct extension *)e)->metadata->version;
            v->major = MAJOR, v->minor = MINOR;
            return NULL;
        }
    for (int64_t i = 0; i < frame->rets.count; i++) { /* every f32 element becomes FILL */
        struct buffer *b = frame->rets.values[i];
        int64_t n = 1;
        for (int64_t d = 0; d < b->rank; d++) n *= b->dims[d];
        for (int64_t k = 0; k < n; k++) ((float *)b->data)[k] = FILL;
    }
    return NULL;
}
struct row { const char *target, *platform; void *instantiate, *prepare, *initialize, *execute; };
static struct row rows[] = { ROWS };
static const char text[] = TEXT;
static struct { uint32_t version, reserved; const char *json; size_t size; struct row *rows; size_t count; }
    manifest = { VERSION, 0, text, sizeof text - 1, rows, sizeof rows / sizeof *rows };
void *oxidax_manifest(void) { return &manifest; }
"""


def operation(name: str, params: str, **changes: Any) -> dict[str, Any]:
    """An f32 operation; `params` like "x(n) a(n)! -> y(n) s()", where ! marks an InOut."""
    before, _, after = params.partition("->")
    rows: list[dict[str, Any]] = []
    for text, role in [(t, "argument") for t in before.split()] + [(t, "result") for t in after.split()]:
        buffer, _, axes = text.rstrip("!)").partition("(")
        shape = [["dim", axis] for axis in axes.rstrip(")").split(",") if axis]
        rows.append({"name": buffer, "role": "inout" if text.endswith("!") else role, "shape": shape})
    dims = list(dict.fromkeys(axis[1] for row in rows for axis in row["shape"]))
    return {
        "id": f"c::{name}", "name": name, "target": f"c.{name}", "platform": "cpu", "doc": "", "batch": "each",
        "command_buffer": False, "dims": dims, "params": rows, "require": [],
        "instances": [{row["name"]: {"dtype": "f32"} for row in rows}], "vjp": None, "jvp": None, **changes,
    }  # fmt: skip


def build(
    folder: Path,
    *operations: dict[str, Any],
    name: str = "libc_test.so",
    fill: float = 1.0,
    version: int = 1,
    api: tuple[int, int | str] = (0, 1),
    text: str | None = None,
    panic: str = "unwind",
) -> Path:
    """Compiles a library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    rows = [{**op, "handler": index} for index, op in enumerate(operations)]
    if text is None:
        text = json.dumps({"manifest_version": 1, "oxidax": "0.1.0", "panic": panic, "operations": rows})
    table = ", ".join(f'{{"{op["target"]}", "{op["platform"]}", 0, 0, 0, (void *)handler}}' for op in rows)
    defines = {
        "MAJOR": api[0], "MINOR": api[1], "FILL": fill, "VERSION": version, "TEXT": json.dumps(text),
        "ROWS": table or "{0}",
    }  # fmt: skip
    source = "".join(f"#define {key} {value}\n" for key, value in defines.items()) + _SOURCE
    path = folder / name
    built = folder / f"new-{name}"
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", built, "-Wl,--no-as-needed", "-lm"]
    subprocess.run(command, input=source, text=True, check=True)
    built.replace(path)  # as cargo does: a new file, not new bytes in the old one
    return path
