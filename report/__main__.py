# SPDX-License-Identifier: MIT
"""python -m report RESULTS.json... -o report.html [--against OLD.json...]"""

import argparse
import json
import pathlib
import sys

from .results import Results, ResultsError, keep, kept_path, merge, newest_kept, read
from .sources import hashes_of_results
from .times import times_text


def main():
    parser = argparse.ArgumentParser(
        prog="report", description="One self-contained page of results of 'heapwood reproduce'."
    )
    add = parser.add_argument
    add("results", nargs="+", help="results.json; several files are parts of one measurement")
    add("-o", "--output", default="report.html", help="the page (default: %(default)s)")
    add("--against", nargs="+", default=[], metavar="OLD", help="earlier results to compare with")
    add(
        "--kept",
        metavar="DIR",
        help="if the results are not of a GPU, show the newest kept GPU run of DIR first",
    )
    add(
        "--keep",
        metavar="DIR",
        help="write the results, compressed and with hashes of the allocators' sources, to DIR",
    )
    add("--merged", metavar="FILE", help="write the merged results to FILE, write no page")
    add("--times", action="store_true", help="print the time of items and cases, write no page")
    add("--verdicts", action="store_true", help="print the claims' verdicts, write no page")
    add(
        "--verdicts-into", metavar="FILE", help="write the verdicts between the marks of a document"
    )
    options = parser.parse_args()
    try:
        merged = merge([read(path) for path in options.results])
        results = Results(merged)
        against = (
            Results(merge([read(path) for path in options.against])) if options.against else None
        )
        if options.merged:
            pathlib.Path(options.merged).write_text(json.dumps(merged, indent=1), encoding="utf-8")
            print(options.merged)
            return 0
        if options.times:
            print(times_text(results))
            return 0
        if options.keep:
            kept_path(options.keep, merged)  # first, since its errors say more
            sources = hashes_of_results(merged)
            if sources is None:
                raise ResultsError(
                    "the code of the results is not known: run --keep in a clone that has their"
                    " commit (one for all of them, without changes)"
                )
            print(keep(options.keep, merged, sources))
            return 0
        kept = newest_kept(options.kept) if options.kept and not results.on_gpu else None
        # Imported here: only the page needs packages; all above works on the machine that measures.
        from .page import render, verdicts_markdown, write_verdicts

        if options.verdicts:
            print(verdicts_markdown(results))
            return 0
        if options.verdicts_into:
            write_verdicts(options.verdicts_into, results)
            print(options.verdicts_into)
            return 0
        pathlib.Path(options.output).write_text(
            render(results, against, Results(kept) if kept else None), encoding="utf-8"
        )
    except ModuleNotFoundError as error:
        print(
            f"report: error: needs {error.name}, which this installs: make report", file=sys.stderr
        )
        return 1
    except (ResultsError, OSError) as error:
        print(f"report: error: {error}", file=sys.stderr)
        return 1
    print(options.output)
    return 0


sys.exit(main())
