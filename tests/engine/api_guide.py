#!/usr/bin/env python3
"""Makes a GoogleTest source of the C++ blocks in a page of engine/docs, so that a test compiles and runs each of them.

usage: api_guide.py PAGE OUTPUT
"""

import pathlib
import sys

HEADER = '''// Made by tests/engine/api_guide.py. Do not edit.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <skyrank/skyrank.hpp>

#undef assert
#define assert(condition) ASSERT_TRUE(condition)

namespace skyrank::testing {
namespace {

/// Returns the table that the blocks query.
Table example_hotels() {
  return Table({Column::own("name", std::vector<std::string>{"Aurora", "Bristol", "Comfort", "Dronning"}),
                Column::own("city", std::vector<std::string>{"Oslo", "Bergen", "Oslo", "Oslo"}),
                Column::own("price", std::vector<double>{120, 80, 95, 150}),
                Column::own("rating", std::vector<double>{4.5, 3.9, 4.2, 4.4})});
}
'''
TEST = '''
TEST({suite}, Line{line}) {{
  [[maybe_unused]] const Table hotels = example_hotels();
#line {first} "{page}"
{code}}}
'''
FOOTER = '''
}  // namespace
}  // namespace skyrank::testing
'''


def cpp_blocks(text):
    """Yields (line of the fence, code) of each ```cpp block."""
    lines = text.splitlines(keepends=True)
    start = None
    for number, line in enumerate(lines, 1):
        if line == "```cpp\n":
            start = number
        elif line == "```\n" and start is not None:
            yield start, "".join(lines[start:number - 1])
            start = None


def main():
    page, output = sys.argv[1:]
    blocks = list(cpp_blocks(pathlib.Path(page).read_text(encoding="utf-8")))
    if not blocks:
        raise SystemExit(f"{page}: there is no ```cpp block")
    suite = pathlib.Path(page).stem.capitalize() + "Guide"
    tests = [TEST.format(suite=suite, line=line, first=line + 1, page=page, code=code) for line, code in blocks]
    pathlib.Path(output).write_text(HEADER + "".join(tests) + FOOTER, encoding="utf-8")


if __name__ == "__main__":
    main()
