#include "engine/plan/guard_record.hpp"

#include <cmath>

namespace skyrank::exec {

std::string describe(const SkylineGuard& guard) {
  return "4 x the predicted " + std::to_string(guard.steps / 4) + " comparisons, at least " +
         std::to_string(guard.min_steps) + "; then " + std::string(guard.fallback->name) + " over the rows left";
}

std::string describe(const GuardRecord& record) {
  if (record.strikes == 0) return {};
  const std::string where =
      record.runs == 1 ? "struck"
                       : "struck in " + std::to_string(record.strikes) + " of " + std::to_string(record.runs) + " runs";
  return where + ", after " + std::to_string(record.spent) + " comparisons; " + std::string(record.fallback->name) +
         " took over " + std::to_string(record.rows_left) + " rows and spared about " +
         std::to_string(std::llround(record.spared)) + " comparisons";
}

}  // namespace skyrank::exec
