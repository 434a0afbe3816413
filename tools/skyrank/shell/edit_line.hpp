#pragma once

#include <memory>

#include "tools/skyrank/shell/line_editor.hpp"

namespace skyrank::tools {

/// Makes an editor of libedit; null where the program is built without it, or the terminal cannot be used.
std::unique_ptr<LineEditor> make_edit_line(const Signals& signals, Complete complete);

}  // namespace skyrank::tools
