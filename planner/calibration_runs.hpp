#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/choose.hpp"
#include "planner/price_list.hpp"

// Measured runs, as planner/data stores them. A run has all that the current models need to price it again, without the
// data that it ran on.
namespace skyrank::planner {

/// A run is stopped when it takes kHopeless times as long as the best one, and kMinStopped seconds at least.
inline constexpr double kHopeless = 6;
inline constexpr double kMinStopped = 0.05;

struct CalibrationRun {
  std::string algorithm;  ///< registered name
  std::string data;       ///< name of the data, for people
  std::variant<kernels::SkylineShape, kernels::TopKShape> shape;
  Statistics statistics;  ///< statistics as a planner would have had them
  int threads = 1;
  double planning = 0;  ///< seconds for statistics and choice of the path
  double seconds = 0;   ///< infinite: stopped, as others were so much faster
  cost::Values parameters = {};
  int passes = 1;  ///< over the grid in which it was timed; files do not tell
};

void write_runs(std::ostream& out, const std::vector<CalibrationRun>& runs);

/// Returns the text that identifies the query of a run.
std::string query_of(const CalibrationRun& run);

/// Throws BadProfile for text that write_runs did not write.
std::vector<CalibrationRun> read_runs(std::istream& in, const std::string& source);

/// Predicted seconds; nothing of algorithms that have no model any more.
std::optional<double> predict(const CalibrationRun& run, const PriceList& prices);

/// Seconds of all algorithms of which there are runs; the rest of the profile is empty. They are pulled to the models'
/// own, or to those of prices that are known.
Profile fit(const std::vector<CalibrationRun>& runs);
Profile fit(const std::vector<CalibrationRun>& runs, const PriceList& known);

}  // namespace skyrank::planner
