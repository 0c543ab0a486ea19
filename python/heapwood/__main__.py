# SPDX-License-Identifier: MIT
"""`python -m heapwood`: the command line."""

import os
import sys

from ._cli import program


def main() -> None:
    """Becomes the program `heapwood` with this process's arguments."""
    path = str(program())
    os.execv(path, ["heapwood", *sys.argv[1:]])


if __name__ == "__main__":
    main()
