#!/usr/bin/env python3
"""Checks the comments of C++ and CUDA sources.

usage: tools/checks/comments.py [ROOT]

- No comment on lines of its own (///, //), and no doc comment behind a member (///<), begins with Of, What, Whether,
  Where, Which, Whose, Those, That, As or So: the first sentence has a subject and a verb, or begins with an imperative
  verb.
- A header comment has at most 25 lines. It is the first block of // lines that stands before the first namespace and
  begins at the start of a line. Each public header has one.
- No line is longer than 120 characters.

Prints each finding as FILE:LINE and exits with 1 when there is one.
"""

import re
import sys

from repository import finish, listed, root_of

PUBLIC = "engine/include/"
SOURCES = ("*.cpp", "*.hpp", "*.cu", "*.cuh")
MAX_HEADER_LINES = 25
MAX_LINE_LENGTH = 120
FRAGMENT = re.compile(r"(of|what|whether|where|which|whose|those|that|as|so)\b", re.IGNORECASE)
OWN_LINE = re.compile(r"\s*///?(?!/)\s?(.*)")
TRAILING_DOC = re.compile(r".*\S.*///<\s?(.*)|\s*///<\s?(.*)")
PLAIN = re.compile(r"//(?!/)\s?(.*)")


def fragment(text):
    """Returns the word with which a comment must not begin, or None."""
    match = FRAGMENT.match(text)
    return match[1] if match else None


def first_word_findings(lines):
    """Yields (line, message) of comments that begin as fragments."""
    inside = False
    for number, line in enumerate(lines, 1):
        trailing = TRAILING_DOC.match(line)
        own = None if trailing else OWN_LINE.match(line)
        text = (trailing[1] or trailing[2] or "") if trailing else own[1] if own and not inside else ""
        inside = own is not None
        if word := fragment(text):
            yield number, f"the comment begins with '{word}'; begin with a subject or an imperative verb"


def header_comment(lines):
    """Returns (line, texts) of the header comment; no texts when there is none."""
    for number, line in enumerate(lines, 1):
        if line.startswith("namespace"):
            break
        if PLAIN.match(line):
            texts = []
            for following in lines[number - 1:]:
                if not (match := PLAIN.match(following)):
                    break
                texts.append(match[1])
            return number, texts
    return 0, []


def header_findings(lines, is_public=False):
    number, texts = header_comment(lines)
    if is_public and not texts:
        yield 1, "the public header has no header comment; say before its namespace what it declares"
    if len(texts) > MAX_HEADER_LINES:
        yield number, f"the header comment has {len(texts)} lines; at most {MAX_HEADER_LINES}, the rest is for the code below"


def length_findings(lines):
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_LENGTH:
            yield number, f"the line has {len(line)} characters; at most {MAX_LINE_LENGTH}"


def findings(text, is_public=False):
    """Returns all (line, message) of a file's text, in order."""
    lines = text.splitlines()
    return sorted([*first_word_findings(lines), *header_findings(lines, is_public), *length_findings(lines)])


def main():
    root = root_of(sys.argv)
    files = listed(root, *SOURCES)
    found = [f"{path}:{number}: {message}" for path in files
             for number, message in findings((root / path).read_text(encoding="utf-8"),
                                             str(path).startswith(PUBLIC))]
    return finish("comments", files, found)


if __name__ == "__main__":
    sys.exit(main())
