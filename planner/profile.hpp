#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Calibrated speeds of a machine: seconds for each unit of each term of the cost models, by algorithm. They are read
// from YAML, and belong to one CPU and GPU; the built-in profile serves all other machines.
namespace skyrank::planner {

/// A machine and its speed. `skyrank calibrate` makes it; files keep it as YAML.
struct Profile {
  /// Seconds of a cost model's terms, by name.
  using Seconds = std::map<std::string, double, std::less<>>;

  std::string cpu;  ///< model name; empty for the built-in profile, which fits any
  int cores = 0;    ///< cores that were used
  std::string gpu;  ///< empty: none
  /// Measured rates, for people and for models that use them: "memory_bandwidth" in bytes a second, and so on;
  /// planner/cuda_start.hpp uses "driver_start" and "context_start".
  std::map<std::string, double, std::less<>> rates;
  std::map<std::string, Seconds, std::less<>> algorithms;  ///< by registered name

  const Seconds* seconds_of(std::string_view algorithm) const {
    const auto found = algorithms.find(algorithm);
    return found == algorithms.end() ? nullptr : &found->second;
  }
  bool operator==(const Profile&) const = default;
};

/// A fault in a profile, with its place; the engine turns it into a ResourceError.
struct BadProfile {
  std::string source;
  std::string reason;
};

/// For machines that were never calibrated: planner/profiles/default.yaml, fitted to planner/data.
const Profile& built_in_profile();

/// Throws BadProfile for text that is no profile of this version.
Profile parse_profile(std::string_view yaml, const std::string& source);
std::string to_yaml(const Profile& profile);

/// Returns the place of a user's profile: $XDG_CACHE_HOME/skyrank/profile.yaml, or under ~/.cache; none without a home.
std::optional<std::filesystem::path> profile_file();

/// The profile in a file, or nothing where there is no such file. Throws BadProfile when it cannot be read, or was made
/// on a machine with another CPU or GPU than `cpu` and `gpu` name.
std::optional<Profile> read_profile(const std::filesystem::path& file, const std::string& cpu, const std::string& gpu);

/// Model name of the CPU this runs on, or its architecture where the system does not tell. Throws BadProfile where the
/// system tells, but not now.
std::string cpu_name();

}  // namespace skyrank::planner
