"""Every operation of the test libraries under every transformation of JAX, held against `matrix.toml`, cell by cell.

A cell works where it gives what the same transformation gives for the reference. An error where the table says that
it works fails, and so does a success where the table has an error.
"""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import library_path
from matrix_operations import ROWS, Row
from matrix_transformations import COLUMNS, EAGER, REFERENCES

import oxidax

TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent / "matrix.toml").read_text())
VERSION = tuple(int(part) for part in re.findall(r"\d+", jax.__version__)[:3])
LIBRARIES = ("rms_norm", "lu_pivots", "oxidax_testlib")


@pytest.fixture(scope="module", autouse=True)
def _compile_quickly():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def spelled_out(columns: list[str]) -> list[str]:
    """Columns, with those of a group in the place of its name."""
    return [column for name in columns for column in TABLE["groups"].get(name, [name])]


def expected(row: Row, column: str) -> str | None:
    """The error that the table has for a cell on this version of JAX, or None where it works."""
    for entry in TABLE["errors"].get(row.name, []):
        old = tuple(entry.get("before", (999,))) > VERSION
        if old and column in spelled_out(entry["columns"]):
            return f"{entry.get('operation', row.name)}: {TABLE['messages'][entry['error']]}"
    return None


@functools.cache
def operation(row: Row) -> oxidax.Operation:
    return oxidax.load(library_path(row.library))[row.name]


def called(row: Row) -> Any:
    """The operation with the keywords of its row."""
    ours = operation(row)
    call = functools.partial(ours, **row.keywords)
    call.export_checks = ours.export_checks  # type: ignore[attr-defined]
    return call


def results(function: Any, row: Row, columns: set[str]) -> dict[str, Any]:
    """What a function gives under several columns: as far as may be in one program, for compiling takes long."""

    def values(columns: set[str]) -> dict[str, Any]:
        return {column: COLUMNS[column](function, row.args) for column in sorted(columns)}

    return jax.block_until_ready(values(columns & EAGER) | jax.jit(lambda: values(columns - EAGER))())


@functools.cache
def references(row: Row) -> dict[str, Any]:
    def reference(*args: Any) -> Any:  # what JAX wraps NumPy arrays in has no methods
        return row.reference(*map(jnp.asarray, args))

    return results(reference, row, set(REFERENCES.values()))


@functools.cache
def working(row: Row) -> dict[str, Any]:
    """The results under all columns that should work under jit; none where one of them does not."""
    try:
        return results(called(row), row, {c for c in COLUMNS if c not in EAGER and expected(row, c) is None})
    except Exception:  # each column shows its own
        return {}


def evaluate(row: Row, column: str) -> Any:
    known = working(row) if expected(row, column) is None else {}
    return known[column] if column in known else results(called(row), row, {column})[column]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_cell(row, column):
    error = expected(row, column)
    if error is not None:
        with pytest.raises((TypeError, oxidax.SignatureError), match=re.escape(error)):
            evaluate(row, column)
        return
    got, want = jax.tree.leaves(evaluate(row, column)), jax.tree.leaves(references(row)[REFERENCES[column]])
    jax.tree.map(same, got, want)


def same(got, want):
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if got.dtype != jax.dtypes.float0 and not isinstance(want, jax.ShapeDtypeStruct):
        np.testing.assert_allclose(got, want, rtol=1e-5 if want.dtype == np.float32 else 1e-10, atol=1e-10)


def test_every_operation_that_is_no_rule_of_another_has_a_row():
    operations = [operation for name in LIBRARIES for operation in oxidax.load(library_path(name))]
    rules = {rule for operation in operations for rule in operation.rules}
    # What `test_opcheck.py` has planted to be found out is of no use here.
    honest = [operation for operation in operations if "::liars::" not in operation.definition.id]
    assert sorted(row.name for row in ROWS) == sorted(o.__name__ for o in honest if o not in rules)


def test_the_table_has_nothing_that_no_cell_reads():
    entries = [entry for entries in TABLE["errors"].values() for entry in entries]
    names = [name for entry in entries for name in entry["columns"]]
    assert set(TABLE["errors"]) <= {row.name for row in ROWS}
    assert {entry["error"] for entry in entries} == set(TABLE["messages"])
    assert set(TABLE["groups"]) <= set(names)
    assert set(spelled_out(names)) <= set(COLUMNS)
