"""Puts the library of the kernels, and the licences of what is linked into it, into the wheel.

`tools/wheel.py` makes both and names their folder in the variable OXIDAX_KERNELS_WHEEL. An editable install takes
neither: there the variable OXIDAX_KERNELS_LIBRARY names the library.
"""

import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "liboxidax_kernels.so"
LICENCES = "THIRD-PARTY-LICENSES.txt"


class Hook(BuildHookInterface):
    """Hatchling's interface."""

    def initialize(self, version, build_data):
        """Adds the two files, and the tag of the machine."""
        if version == "editable":
            return
        folder = Path(os.environ.get("OXIDAX_KERNELS_WHEEL", ""))
        if not (folder / LIBRARY).is_file() or not (folder / LICENCES).is_file():
            raise SystemExit(f"error: OXIDAX_KERNELS_WHEEL names no folder with {LIBRARY}: build with tools/wheel.py")
        build_data["pure_python"] = False
        build_data["tag"] = os.environ.get("OXIDAX_KERNELS_TAG", "py3-none-linux_x86_64")
        build_data["force_include"] = {
            str(folder / LIBRARY): f"oxidax_kernels/{LIBRARY}",
            str(folder / LICENCES): f"oxidax_kernels/{LICENCES}",
        }
