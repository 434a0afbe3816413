#pragma once

#include <memory>

#include "tools/skyrank/answers/answers.hpp"

namespace skyrank::tools {

/// Returns a writer that hands answers to another one and also puts them into a page of HTML, whole or not at all: each
/// query as SQL, its answer, a picture of its front, its plan and its times. ResourceError where the file cannot be
/// written.
std::unique_ptr<AnswerWriter> with_html_report(std::unique_ptr<AnswerWriter> writer, const std::filesystem::path& file,
                                               const std::stop_token& stop);

}  // namespace skyrank::tools
