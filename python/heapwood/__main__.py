# SPDX-License-Identifier: MIT
"""`python -m heapwood`: the command line."""

import os
import sys
from pathlib import Path

from ._errors import Error


def main() -> None:
    """Becomes the program `heapwood` that the package contains, with this process's arguments."""
    path = Path(__file__).parent / "bin" / "heapwood"
    if not path.exists():
        raise Error(f"{path}: no such program: install the package again")
    os.execv(path, ["heapwood", *sys.argv[1:]])


if __name__ == "__main__":
    main()
