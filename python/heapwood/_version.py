# SPDX-License-Identifier: MIT
"""The version of the installed package."""

from importlib import metadata

try:
    __version__ = metadata.version("heapwood")
except metadata.PackageNotFoundError:  # on PYTHONPATH, not installed
    __version__ = "0+unknown"
