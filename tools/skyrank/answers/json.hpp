#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>
#include <skyrank/plan.hpp>

#include <nlohmann/json.hpp>

// Writes the JSON of the command line: errors, documents and lines.
namespace skyrank::tools {

/// Members keep the order in which they are written.
using Json = nlohmann::ordered_json;

Json to_json(const Timing& timing);
Json to_json(const Work& work);
Json to_json(const PlanNode& plan);
Json to_json(const AlgorithmInfo& algorithm);
Json to_json(const RuleInfo& rule);

/// {"kind", "message", and "file", "line", "column" where known}.
Json to_json(const std::exception& error);

/// A whole document, indented, with a final newline. Invalid UTF-8 is replaced, here and in to_line.
std::string to_text(const Json& document);

/// The same on one line, without a newline.
std::string to_line(const Json& document);

}  // namespace skyrank::tools
