#pragma once

#include <exception>

#include <skyrank/metrics.hpp>

#include "tools/skyrank/answers/answers.hpp"
#include "tools/skyrank/terminal/console.hpp"

// The log of `--log json`: a line of JSON for each event (engine/docs/schemas/log.json). Without the option they do
// nothing.
namespace skyrank::tools {

void log_start(Console& console, const Query& query);
void log_answer(Console& console, const Answer& answer, double ms);
void log_error(Console& console, const Query& query, const std::exception& error, double ms);
void log_end(Console& console, int status);

/// Returns the line of a message.
std::string log_line(const char* event, std::string_view message);

}  // namespace skyrank::tools
