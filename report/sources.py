# SPDX-License-Identifier: MIT
"""Hashes of the allocators' sources, to tell whether results are of the code as it is now.

A hash covers an allocator's header and the headers below alloc/ that it includes, without comments
and layout. The headers of the interface do not count: an option for one allocator would change all
hashes. `python3 -m report ... --keep DIR` stores them in the results file; without stored ones they
are computed from the commit that the results name, if the repository has it."""

import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[1]
REGISTRY = "alloc/registry.def"
INTERFACE = ("alloc/allocator.hpp", "alloc/concepts.hpp", "alloc/statistics.hpp")
INCLUDE = re.compile(r'^\s*#\s*include\s+"(alloc/[^"]+)"', re.MULTILINE)
ID = re.compile(r'\.id\s*=\s*"([^"]+)"')
# Outside of strings: sources have no "//" or "/*" in a string but in messages, which are code too.
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def of_tree(root=ROOT):
    """A reader of files: (path) -> text or None."""

    def read(path):
        try:
            return (root / path).read_text(encoding="utf-8")
        except OSError:
            return None

    return read


def of_commit(sha, root=ROOT):
    """The same for a commit; None if this is no repository, or it lacks the commit."""
    if not re.fullmatch(r"[0-9a-f]{7,40}", sha or ""):
        return None

    def git(*arguments):
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
            )
        except OSError:
            return None
        return done.stdout if done.returncode == 0 else None

    if git("cat-file", "-e", f"{sha}^{{commit}}") is None:
        return None
    return lambda path: git("show", f"{sha}:{path}")


def code_of(text):
    """Source text without comments and layout."""
    return " ".join(COMMENT.sub(lambda match: match.group(1) or " ", text).split())


def files_below(path, read):
    """{path: text} of a header and of the headers below alloc/ that it includes."""
    files, left = {}, [path]
    while left:
        path = left.pop()
        text = read(path)
        if path in files or path in INTERFACE or text is None:
            continue
        files[path] = text
        left += INCLUDE.findall(text)
    return files


def hashes(read):
    """{id: hash} of the registered allocators."""
    found, cached = {}, {}

    def read_once(path):
        if path not in cached:
            cached[path] = read(path)
        return cached[path]

    for line in (read_once(REGISTRY) or "").splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        files = files_below(f"alloc/allocators/{words[0]}.hpp", read_once)
        ids = ID.findall(files.get(f"alloc/allocators/{words[0]}.hpp", "")) or [
            words[0].replace("_", "-")
        ]
        digest = hashlib.sha256()
        for path in sorted(files):
            digest.update(f"{path}\n{code_of(files[path])}\n".encode())
        # A header may define several allocators; the line's type is not looked for in it.
        for name in ids:
            found[name] = digest.hexdigest()[:16]
    return found


def hashes_of_results(content, root=ROOT):
    """{id: hash} of the code that the results are of; None if it is not known."""
    if "sources" in content:
        return content["sources"]
    shas = {run.get("git", {}).get("sha") for run in content["runs"]}
    if len(shas) != 1 or any(run.get("git", {}).get("dirty") for run in content["runs"]):
        return None
    read = of_commit(shas.pop(), root)
    return hashes(read) if read else None


def changed_allocators(results, root=ROOT):
    """The ids of the results' allocators whose code differs from the tree's. Empty if the results'
    code is not known."""
    then = hashes_of_results(results.content, root)
    if then is None:
        return []
    now = hashes(of_tree(root))
    return [a for a in results.labels() if a in then and then[a] != now.get(a)]
