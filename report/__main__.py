# SPDX-License-Identifier: MIT
"""python -m report results.json -o report.html"""

import argparse
import pathlib
import sys

from .results import Results, ResultsError, keep, newest_kept, read


def main():
    parser = argparse.ArgumentParser(
        prog="report", description="One self-contained page of results of 'heapwood reproduce'."
    )
    add = parser.add_argument
    add("results", help="results.json; 'heapwood merge' makes one of the parts of a measurement")
    add("-o", "--output", default="report.html", help="the page (default: %(default)s)")
    add(
        "--kept",
        metavar="DIR",
        help="if the results are not of a GPU, show the newest kept GPU run of DIR first",
    )
    add("--keep", metavar="DIR", help="write the results, compressed, to DIR, write no page")
    add("--verdicts", action="store_true", help="print the claims' verdicts, write no page")
    add(
        "--verdicts-into", metavar="FILE", help="write the verdicts between the marks of a document"
    )
    options = parser.parse_args()
    try:
        results = Results(read(options.results))
        if options.keep:
            print(keep(options.keep, results.content))
            return
        kept = newest_kept(options.kept) if options.kept and not results.on_gpu else None
        # Imported here, because only the page needs packages; the code above works on the machine
        # that measures.
        from .page import render, verdicts_markdown, write_verdicts

        if options.verdicts:
            print(verdicts_markdown(results))
        elif options.verdicts_into:
            write_verdicts(options.verdicts_into, results)
            print(options.verdicts_into)
        else:
            page = render(results, Results(kept) if kept else None)
            pathlib.Path(options.output).write_text(page, encoding="utf-8")
            print(options.output)
    except ModuleNotFoundError as error:
        sys.exit(f"report: error: needs {error.name}, which this installs: make report")
    except (ResultsError, OSError) as error:
        sys.exit(f"report: error: {error}")


main()
