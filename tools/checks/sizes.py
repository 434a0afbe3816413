#!/usr/bin/env python3
"""Checks that sizes which files and peers state go through engine/checked_size.hpp.

usage: tools/checks/sizes.py [ROOT]

In the readers of files, of partial answers and of messages between ranks (READERS) it finds

- the conversion of a stated count to a size (`static_cast<std::size_t>(metadata.num_rows())`): checked_count();
- an allocation of a product (`buffer.resize(rows * sizeof(T))`): checked_multiply(); products of constants pass;
- the conversion of a floating-point number to an integer: one out of range is undefined, and no size.

Prints each finding as FILE:LINE and exits with 1 when there is one. ALLOWED has the places that need no check, each with
its reason; an entry that nothing needs any more is a finding too.
"""

import re
import sys

from repository import finish, listed, root_of

READERS = ("datasets/*.cpp", "datasets/*.hpp", "engine/arrow*.cpp", "engine/arrow*.hpp", "engine/parts/states/*.cpp",
           "engine/parts/states/*.hpp", "engine/standing/saved_*.cpp", "engine/standing/saved_*.hpp", "tools/mpi/*.cpp", "tools/mpi/*.hpp")
OTHERS = re.compile(r"datasets/(?:generate|write)/")  # which read nothing
CHECKED = ("checked_count", "checked_multiply", "checked_add", "checked_extent")
# Names under which Arrow, Parquet, its page headers and MPI give counts that somebody else wrote.
STATED = (
    "num_rows", "num_values", "num_nulls", "row_count", "file_size", "null_count", "n_buffers", "n_children", "total_byte_size", "total_compressed_size",
    "total_uncompressed_size", "compressed_page_size", "uncompressed_page_size", "uncompressed_size",
    "definition_levels_byte_length", "repetition_levels_byte_length", "dictionary_page_offset", "data_page_offset",
    "data_page_header", "bodyLength", "metadata_length", "body_length",
)
INTEGER = r"(?:std::)?(?:u?int(?:8|16|32|64)_t|size_t|ptrdiff_t|int|unsigned|long)"
CONVERSION = re.compile(rf"static_cast<{INTEGER}>\s*(?=\()")
ALLOCATION = re.compile(
    r"(?:\.|->)(?:resize|reserve|assign)\s*(?=\()"
    r"|\bmake_unique(?:_for_overwrite)?<[^;()]*\[\]>\s*(?=\()"
    r"|\b(?:malloc|calloc|realloc|AllocateBuffer|AllocateResizableBuffer)\s*(?=\()"
    r"|\b(?:std::vector|Vector|RawVector|Bytes)(?:<[^;(){}]*>)?\s+\w+\s*(?=\()"
)
STATED_COUNT = re.compile(rf"\b(?:{'|'.join(STATED)})\b(?:\(\))?|(?:\barray|\bentries|\bbatch)\b(?:\.|->)length\b")
PRODUCT = re.compile(r"[\w)\]>]\s*\*\s*[\w(]")
CONSTANT = re.compile(r"(?:\d[\d'.]*[uUlLfF]*|k[A-Z]\w*|sizeof\s*\([^()]*\)|[\s*+-])+")
FLOATING = re.compile(r"\b(?:double|float)\b|\b\d[\d']*\.\d|\bstd::(?:ceil|floor|round|trunc|pow|sqrt|log2?)\b")
FLOATING_VARIABLE = re.compile(r"\b(?:double|float)\s+(\w+)\s*[=;,){]")

# (file, code) -> why it is right. The code is that of the finding, on one line.
ALLOWED = {
    ("engine/parts/states/spilled_groups.cpp",
     "static_cast<std::size_t>(std::clamp(bytes * state.arena.max_concurrency() / room, kMin, kMax))"):
        "between kMin and kMax",
    ("engine/parts/states/spilled_groups.cpp", "static_cast<std::size_t>(row * static_cast<double>(most))"):
        "a share of the bytes of a temporary file of our own",
}


def without_comments(text):
    """Returns C++ code with spaces in place of comments and of what stands in quotes; lines stay where they are."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL)


def argument_at(code, begin):
    """Returns what stands in the parentheses that open at `begin`."""
    depth = 0
    for end in range(begin, len(code)):
        depth += {"(": 1, ")": -1}.get(code[end], 0)
        if depth == 0:
            return code[begin + 1:end]
    return code[begin + 1:]


def without_checked(argument):
    """Returns an argument without the calls that check sizes."""
    for name in CHECKED:
        while match := re.search(rf"\b{name}\s*(?=\()", argument):
            inside = argument_at(argument, match.end())
            argument = argument[:match.start()] + "0" + argument[match.end() + len(inside) + 2:]
    return argument


def has_unchecked_product(argument):
    """Returns true for a product in which a factor is no constant."""
    parts = [part for part in argument.split(",") if PRODUCT.search(part)]
    return any(not CONSTANT.fullmatch(part.strip()) for part in parts)


def is_floating(argument, before):
    """Returns true for an argument with a floating-point number, or with one of those that `before` declares."""
    names = "|".join(set(FLOATING_VARIABLE.findall(before)))
    declared = names and re.search(rf"(?<![.>\w])(?:{names})\b(?!\()", argument)
    return bool(FLOATING.search(argument) or declared)


def faults(code):
    """Yields (offset, what, argument) of each size that is not checked in code without comments."""
    for match in CONVERSION.finditer(code):
        argument = without_checked(argument_at(code, match.end()))
        if is_floating(argument, code[code.rfind("\n}", 0, match.start()) + 1:match.start()]):
            yield match, "a floating-point number becomes an integer"
        elif STATED_COUNT.search(argument):
            yield match, "a stated count becomes a size without checked_count()"
    for match in ALLOCATION.finditer(code):
        if has_unchecked_product(without_checked(argument_at(code, match.end()))):
            yield match, "an allocation of a product without checked_multiply()"


def findings(path, text, allowed):
    """Returns (line, message) of each fault of a file, and adds the entries of `allowed` that it needs to a set."""
    code = without_comments(text)
    found = []
    used = set()
    for match, message in faults(code):
        expression = " ".join((match[0] + "(" + argument_at(code, match.end()) + ")").split())
        if (path, expression) in allowed:
            used.add((path, expression))
            continue
        found.append((code.count("\n", 0, match.start()) + 1, f"{message}: {expression}"))
    return sorted(found), used


def main():
    root = root_of(sys.argv)
    files = [path for path in listed(root, *READERS) if not OTHERS.match(path)]
    found = []
    unused = {entry for entry in ALLOWED if entry[0] in files}
    for path in files:
        faults_of_file, used = findings(path, (root / path).read_text(), ALLOWED)
        unused -= used
        found += [f"{path}:{line}: {message}" for line, message in faults_of_file]
    found += [f"tools/checks/sizes.py: nothing needs the entry {entry}" for entry in sorted(unused)]
    return finish("sizes", files, found)


if __name__ == "__main__":
    sys.exit(main())
