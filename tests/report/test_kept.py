# SPDX-License-Identifier: MIT
"""Kept results: hashes of the allocators' sources, and the warning that an allocator has changed."""

import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from report import page
from report.results import Results, ResultsError, keep, newest_kept, read
from report.sources import ROOT, changed_allocators, code_of, hashes, of_commit, of_tree

from .made import content, row

ALLOCATOR = """// SPDX-License-Identifier: MIT
#include "alloc/primitives/part.hpp"
static constexpr AllocatorTraits traits{.id = "atomic"};
int answer() { return 42; }
"""


def git(folder, *arguments):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    for name in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{name}_NAME": "Test", f"GIT_{name}_EMAIL": "test@example.com"}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


class Tree(unittest.TestCase):
    """A repository with two allocators."""

    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write("alloc/registry.def", "# comment\natomic Atomic\nheapwood Heapwood\n")
        self.write("alloc/allocators/atomic.hpp", ALLOCATOR)
        self.write("alloc/allocators/heapwood.hpp", ALLOCATOR.replace("atomic", "heapwood"))
        self.write("alloc/primitives/part.hpp", '#include "alloc/allocator.hpp"\nint part();\n')
        self.write("alloc/allocator.hpp", "struct AllocatorOptions {};\n")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def edit(self, path, old, new):
        text = (self.root / path).read_text()
        self.assertIn(old, text)
        self.write(path, text.replace(old, new))

    def now(self):
        return hashes(of_tree(self.root))

    def made(self, sha="0", dirty=False, sources=None):
        rows = [row(a, [1], median_ms=1, triangles=1000) for a in ("atomic", "heapwood")]
        one = content({"own-slowdown": [("build", {"scene": "a"}, rows)]})
        one["runs"][0]["git"] = {"sha": sha, "dirty": dirty}
        if sources is not None:
            one["sources"] = sources
        return one


class Sources(Tree):
    def test_code_changes_the_hash_and_comments_do_not(self):
        before = self.now()
        self.assertEqual(set(before), {"atomic", "heapwood"})
        self.edit(
            "alloc/allocators/atomic.hpp", "int answer()", "// why\n  int   answer() /* so */"
        )
        self.assertEqual(self.now(), before)
        self.edit("alloc/allocators/atomic.hpp", "42", "43")
        after = self.now()
        self.assertNotEqual(after["atomic"], before["atomic"])
        self.assertEqual(after["heapwood"], before["heapwood"])
        self.assertEqual(code_of('f("// no comment"); // one'), 'f("// no comment");')

    def test_parts_count_and_the_interface_does_not(self):
        before = self.now()
        self.edit("alloc/allocator.hpp", "{}", "{ int more; }")
        self.assertEqual(self.now(), before)
        self.edit("alloc/primitives/part.hpp", "part()", "part(int)")
        self.assertFalse(set(self.now().values()) & set(before.values()))

    def test_hashes_of_a_commit(self):
        git(self.root, "init", "--quiet")
        git(self.root, "add", "-A")
        git(self.root, "commit", "--quiet", "-m", "first")
        sha, before = git(self.root, "rev-parse", "HEAD"), self.now()
        self.edit("alloc/allocators/heapwood.hpp", "42", "43")
        self.assertEqual(hashes(of_commit(sha, self.root)), before)
        self.assertIsNone(of_commit("0123456789", self.root))
        self.assertIsNone(of_commit("unknown", self.root))
        # Results without stored hashes, of that commit.
        results = Results(self.made(sha[:12]))
        self.assertEqual(changed_allocators(results, self.root), ["heapwood"])
        self.assertEqual(changed_allocators(Results(self.made(sha, dirty=True)), self.root), [])
        self.assertEqual(changed_allocators(Results(self.made("0123456789")), self.root), [])

    def test_every_allocator_of_this_tree_has_a_hash(self):
        found = hashes(of_tree())
        self.assertGreaterEqual(len(found), 20)
        for name in ("atomic", "cuda", "heapwood", "ouroboros-c-vl", "cmalloc-r"):
            self.assertIn(name, found)
        self.assertGreater(len(set(found.values())), 15)


class Warnings(Tree):
    def setUp(self):
        super().setUp()
        self.real = {
            "atomic": hashes(of_tree())["atomic"],
            "heapwood": hashes(of_tree())["heapwood"],
        }

    def test_the_page_says_whose_code_has_changed(self):
        fresh = Results(self.made("abcdef0", sources=self.real))
        self.assertEqual(page.stale_text(fresh), "")
        self.assertNotIn("Older code", page.render(fresh))
        stale = Results(self.made("abcdef0", sources={**self.real, "heapwood": "another"}))
        said = page.stale_text(stale)
        self.assertIn("heapwood has changed since version abcdef0", said)
        self.assertNotIn("AtomicMalloc", said)
        self.assertIn(said, page.render(stale))
        self.assertIn(said, page.verdicts_markdown(stale))

    def test_a_measurement_without_a_run_has_verdicts(self):
        ended = Results({**content({}), "runs": []})
        self.assertIn("version unknown, 0 cases", page.verdicts_markdown(ended))

    def test_kept_results_are_named_by_gpu_and_commit(self):
        made = self.made("abcdef0123")
        made["device"]["name"] = "NVIDIA H100 80GB HBM3"
        made["runs"][0]["argv"] = ["heapwood", "--scenes", "/home/user/meshes"]
        path = keep(self.root, made, self.real)
        self.assertEqual(path.name, "h100-80gb-hbm3-abcdef0-reproduce.json.gz")
        kept = read(path)
        self.assertEqual(kept["sources"], self.real)
        self.assertEqual(kept["runs"][0]["argv"], ["heapwood", "--scenes", "meshes"])
        self.assertEqual(kept["cases"], made["cases"])
        for bad in (self.made("abc", dirty=True), self.made(None), self.made("unknown")):
            with self.assertRaises(ResultsError):
                keep(self.root, bad, self.real)
        mixed = self.made("abcdef0123")
        mixed["runs"].append({**mixed["runs"][0], "git": {"sha": "1234567", "dirty": False}})
        with self.assertRaisesRegex(ResultsError, "several commits"):
            keep(self.root, mixed, self.real)

    def test_the_newest_gpu_run_is_shown_first(self):
        self.assertIsNone(newest_kept(self.root))
        for sha, kind, started in (
            ("1111111", "cuda", "2026-01-01T00:00:00Z"),
            ("2222222", "cuda", "2026-03-01T00:00:00Z"),
            ("3333333", "cpu", "2026-05-01T00:00:00Z"),
        ):
            made = self.made(sha)
            made["device"]["kind"] = kind
            made["runs"][0]["started"] = started
            keep(self.root, made, self.real)
        # Ended before its first case: older than all others.
        (self.root / "none-reproduce.json.gz").write_bytes(
            gzip.compress(json.dumps({**self.made("4444444"), "runs": []}).encode())
        )
        kept = newest_kept(self.root)
        self.assertEqual(kept["runs"][0]["git"]["sha"], "2222222")
        own = Results(
            content(
                {
                    "regeff-3a": [],
                    "own-slowdown": [
                        ("b", {"scene": "a"}, [row("atomic", [1], median_ms=1, triangles=9)])
                    ],
                },
                kind="cpu",
                name="My CPU",
            )
        )
        text = page.render(own, None, Results(kept))
        self.assertLess(text.index('id="own-slowdown"'), text.index('id="here"'))
        self.assertLess(text.index('id="here"'), text.index('id="here-own-slowdown"'))
        self.assertNotIn('id="here-regeff-3a"', text)  # not measured on this machine
        self.assertIn("Measured on CPU threads", text[text.index('id="here"') :])
        self.assertNotIn("Measured on CPU threads", text[: text.index('id="here"')])

    def test_the_document_has_the_verdicts_of_the_kept_run(self):
        kept = newest_kept(ROOT / "docs/results")
        if kept is None:
            self.skipTest("no run of a GPU is kept")
        document = (ROOT / "docs/results/verdicts.md").read_text(encoding="utf-8")
        written = document.split("<!-- verdicts:begin -->")[1].split("<!-- verdicts:end -->")[0]

        def table(text):
            return [line for line in text.splitlines() if line.startswith("|")]

        self.assertEqual(
            table(written),
            table(page.verdicts_markdown(Results(kept))),
            "write them: RESULTS=docs/results/FILE scripts/report.sh verdicts",
        )

    def test_damaged_files_are_reported(self):
        path = self.root / "x-reproduce.json.gz"
        path.write_bytes(b"not gzip")
        with self.assertRaisesRegex(ResultsError, "x-reproduce.json.gz"):
            newest_kept(self.root)
        path.write_bytes(gzip.compress(json.dumps({"schema": "other"}).encode()))
        with self.assertRaisesRegex(ResultsError, "not a heapwood.reproduce"):
            newest_kept(self.root)
