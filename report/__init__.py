# SPDX-License-Identifier: MIT
"""results.json of `heapwood reproduce` in, one self-contained page out (docs/reproduction.md)."""
