#!/usr/bin/env python3
"""Checks the pages of the project.

usage: tools/checks/documents.py [ROOT]

- README.md has at most 130 lines, the README.md of a folder at most 150.
- The README.md of a folder is no diary: it has no dates and no commit ids.
- Relative links of all pages lead to files of the repository, and their anchors to headings.

Prints each finding as FILE:LINE and exits with 1 when there is one.
"""

import posixpath
import re
import sys

from repository import finish, listed, root_of

MAX_ROOT_LINES = 130
MAX_FOLDER_LINES = 150
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"\b20\d\d-\d\d\b|\b({MONTHS}) (\d{{1,2}}, )?20\d\d\b")
COMMIT = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\b")
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:")


def prose(text):
    """Yields (line number, line) outside fenced blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(text):
    """Returns the anchors that GitHub gives the headings of a page."""
    titles = (line.lstrip("#").strip().lower() for _, line in prose(text) if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def length_findings(path, text):
    lines = len(text.splitlines())
    limit = MAX_FOLDER_LINES if "/" in path else MAX_ROOT_LINES
    if lines > limit:
        yield limit + 1, f"the page has {lines} lines; at most {limit}"


def diary_findings(text):
    for number, line in prose(text):
        if match := DATE.search(line):
            yield number, f"'{match[0]}' is a date; the page describes the design as it is"
        if match := COMMIT.search(line):
            yield number, f"'{match[0]}' looks like a commit id; the page describes the design as it is"


def link_findings(path, text, pages, files):
    """`pages`: texts of all pages by path; `files`: all files and folders of the repository."""
    for number, line in prose(text):
        for target in LINK.findall(line):
            if ELSEWHERE.match(target):
                continue
            file, _, anchor = target.partition("#")
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
            if place not in files:
                yield number, f"the link {target} leads to no file of the repository"
            elif anchor and place in pages and anchor not in anchors(pages[place]):
                yield number, f"the link {target} leads to no heading"


def findings(path, pages, files):
    """Returns all (line, message) of a page, in order."""
    text = pages[path]
    found = list(link_findings(path, text, pages, files))
    if posixpath.basename(path) == "README.md":
        found += length_findings(path, text)
        if "/" in path:
            found += diary_findings(text)
    return sorted(found)


def with_folders(paths):
    """Returns the paths and every folder above one."""
    result = {"."}
    for path in paths:
        while path:
            result.add(path)
            path = posixpath.dirname(path)
    return result


def main():
    root = root_of(sys.argv)
    pages = {path: (root / path).read_text(encoding="utf-8") for path in listed(root, "*.md")}
    files = with_folders(listed(root))
    found = [f"{path}:{number}: {message}" for path in pages for number, message in findings(path, pages, files)]
    return finish("documents", pages, found)


if __name__ == "__main__":
    sys.exit(main())
