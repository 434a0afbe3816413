#pragma once

#include <memory>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/query.hpp>

#include "tools/skyrank/commands.hpp"

namespace skyrank::tools {

/// One query's answer and what it was made from.
struct Answer {
  const Query& query;
  Result result;
  std::int64_t input_rows = 0;
  double read_ms = 0;
  std::vector<std::string> why = {};  ///< for each row that is asked about, the reason why it is not in the answer
};

/// The destination of a run's answers: a terminal, files, or a JSON document.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  /// Writes one answer, all of it or (files) nothing. ResourceError, OutputClosed.
  virtual void write(const Answer& answer) = 0;
  /// Notes that a query has no answer; the message on standard error is not its business.
  virtual void write_error(const Query&, const std::exception&) {}
  /// After the last query.
  virtual void finish() {}
};

/// The writer that the arguments ask for; UsageError where they contradict each other or, without `out`, the number of
/// queries.
std::unique_ptr<AnswerWriter> make_answer_writer(const RunArguments& arguments, std::size_t num_queries,
                                                 Console& console);

}  // namespace skyrank::tools
