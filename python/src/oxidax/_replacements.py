"""The handlers of a library that take the place of another library's. Nothing here imports JAX."""

from __future__ import annotations

import json
import os

from oxidax._errors import LoadError
from oxidax._handlers import Handler
from oxidax._shared_object import damaged, open_shared_object, refuse_abort


def replacements(path: str | os.PathLike[str]) -> dict[str, Handler]:
    """The handlers that are made to take the place of another library's, by target, before JAX is imported.

    Nothing is registered.

    Raises:
        FileNotFoundError: there is no such file.
        LoadError: the file is not such a library, is too new, or contradicts itself.
    """
    opened = open_shared_object(path)
    try:
        manifest = json.loads(opened.text)
        refuse_abort(manifest["panic"], opened.path)
        rows = [(o["handler"], o["target"], o["platform"]) for o in manifest["operations"] if o.get("drop_in")]
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(opened.path, error) from error
    try:
        return {target: opened.table.handler(index, target, platform) for index, target, platform in rows}
    except LoadError as error:
        raise LoadError(f"{opened.path}: {error}") from None
