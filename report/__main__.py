# SPDX-License-Identifier: MIT
"""python -m report RESULTS.json... -o report.html [--against OLD.json...]"""

import argparse
import pathlib
import sys

from .page import render
from .results import Results, ResultsError, merge, read


def main():
    parser = argparse.ArgumentParser(
        prog="report", description="One self-contained page of results of 'heapwood reproduce'."
    )
    parser.add_argument("results", nargs="+", help="results.json; several: parts of one measurement")
    parser.add_argument("-o", "--output", default="report.html", help="the page (default: %(default)s)")
    parser.add_argument("--against", nargs="+", default=[], metavar="OLD", help="earlier results to compare with")
    options = parser.parse_args()
    try:
        results = Results(merge([read(path) for path in options.results]))
        against = Results(merge([read(path) for path in options.against])) if options.against else None
        pathlib.Path(options.output).write_text(render(results, against), encoding="utf-8")
    except (ResultsError, OSError) as error:
        print(f"report: error: {error}", file=sys.stderr)
        return 1
    print(options.output)
    return 0


sys.exit(main())
