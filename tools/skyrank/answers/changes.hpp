#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <skyrank/query.hpp>
#include <skyrank/standing.hpp>

#include "tools/skyrank/terminal/console.hpp"

namespace skyrank::tools {

/// Shows how the answer of a standing query changes.
class ChangesWriter {
 public:
  virtual ~ChangesWriter() = default;
  /// Begins with an answer that is known.
  virtual void begin(const StandingQuery& standing) = 0;
  /// Shows what a call changed.
  virtual void write(const StandingQuery& standing, const Changes& changes) = 0;
};

/// Prints an object of JSON for each call that changes the answer, on a line of its own: the next id, the rows that
/// entered with their ids and values, those that stay with other values, and the ids of those that left.
class ChangesAsJson final : public ChangesWriter {
 public:
  ChangesAsJson(Console& console, const Query& query);

  void begin(const StandingQuery& standing) override;
  void write(const StandingQuery& standing, const Changes& changes) override;

 private:
  Console& console_;
  bool has_changing_values_;  // rows that stay may get other values
  std::shared_ptr<const Result> shown_;
  std::map<RowId, std::string> rows_;  // of the answer, where values change
};

/// Prints the answer as a table after each call; on a terminal in the place of the one before.
class ChangesAsTable final : public ChangesWriter {
 public:
  ChangesAsTable(Console& console, std::string name) : console_(console), name_(std::move(name)) {}

  void begin(const StandingQuery& standing) override;
  void write(const StandingQuery& standing, const Changes& changes) override;

 private:
  Console& console_;
  std::string name_;
};

}  // namespace skyrank::tools
