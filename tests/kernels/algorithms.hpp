#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/registry.hpp"
#include "tests/build.hpp"

namespace skyrank::kernels {

// Prints the parameter of a test.
inline void PrintTo(const SkylineAlgorithm* algorithm, std::ostream* out) { *out << algorithm->name; }
inline void PrintTo(const TopKAlgorithm* algorithm, std::ostream* out) { *out << algorithm->name; }

}  // namespace skyrank::kernels

// The registry as test parameters.
namespace skyrank::kernels::tests {

template <class Algorithm>
std::vector<const Algorithm*> on_cpu(std::span<const Algorithm* const> all) {
  std::vector<const Algorithm*> found;
  std::ranges::copy_if(all, std::back_inserter(found), [](const auto* it) { return it->device == Device::cpu; });
  return found;
}

struct TestName {
  template <class Info>
  std::string operator()(const Info& info) const {
    std::string name(info.param->name);
    std::ranges::replace(name, '-', '_');
    return name;
  }
};

/// The defaults, and every parameter at its least and at its greatest value.
template <class Algorithm>
std::vector<ParameterValues> settings_of(const Algorithm& algorithm) {
  std::vector<ParameterValues> settings{{algorithm.parameters, {}}};
  for (const Parameter& parameter : algorithm.parameters) {
    for (const std::int64_t value : {parameter.min, parameter.max}) {
      settings.push_back({algorithm.parameters, {{std::string(parameter.name), value}}});
    }
  }
  return settings;
}

// Sanitizers slow the oracle's quadratic work tenfold, and the emulator the kernels more: fewer rows and settings
// there.
using skyrank::tests::kEmulated;
using skyrank::tests::kSanitized;
using skyrank::tests::kSlow;
using skyrank::tests::kThreadSanitized;
using skyrank::tests::thread_counts;

/// Selects from a test's many combinations (row counts x widths x distributions x ...): all of them, but under
/// sanitizers one in so many, the first included. No loop inside another may have a number of turns that divides
/// `one_in`, or some of its values would never come up.
class Turns {
 public:
  explicit Turns(std::size_t one_in) : one_in_(kSlow ? one_in : 1) {}

  bool skip() { return turn_++ % one_in_ != 0; }

 private:
  std::size_t one_in_;
  std::size_t turn_ = 0;
};

/// The oracle's answers to the problems of a test, in their order. Algorithms whose tests run in one process share
/// them.
class SharedAnswers {
 public:
  /// Returns the answer to the next problem, which `solve` gives where no algorithm has had it yet.
  template <class Solve>
  const std::vector<RowId>& next(const Solve& solve) {
    static std::map<std::tuple<std::string, std::string, std::size_t>, std::vector<RowId>> known;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string_view name = test.name();  // and the algorithm's, behind a slash
    const auto [place, is_new] =
        known.try_emplace({test.test_suite_name(), std::string(name.substr(0, name.find('/'))), number_++});
    if (is_new) place->second = solve();
    return place->second;
  }

 private:
  std::size_t number_ = 0;
};

/// Row counts at, below and above what algorithms work in: vectors, blocks, chunks.
inline std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all{0,   1,   2,   3,   15,  16,  17,   31,   32,   33,   63,   64,   65,
                               127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4097};
  if (kEmulated) all = {0, 1, 2, 31, 32, 33, 129, 257, 1025, 2049};
  if (kSlow) std::erase_if(all, [](std::size_t n) { return n > 1025; });
  return all;
}

}  // namespace skyrank::kernels::tests
