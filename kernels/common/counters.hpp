#pragma once

#include "kernels/common/problem.hpp"

// Work counters as a policy: algorithms are templates over one of the two, so that counting costs nothing when it is
// off.
namespace skyrank::kernels {

class CountWork {
 public:
  static constexpr bool kEnabled = true;

  void dominance_tests(std::uint64_t n) { work_.dominance_tests += n; }
  void mask_tests(std::uint64_t n) { work_.mask_tests += n; }
  void bytes_read(std::uint64_t n) { work_.bytes_read += n; }
  void bytes_written(std::uint64_t n) { work_.bytes_written += n; }
  void candidates(std::uint64_t n) { work_.candidates += n; }
  void add(const CountWork& other) { work_ += other.work_; }
  Work total() const { return work_; }

 private:
  Work work_;
};

class CountNothing {
 public:
  static constexpr bool kEnabled = false;

  void dominance_tests(std::uint64_t) {}
  void mask_tests(std::uint64_t) {}
  void bytes_read(std::uint64_t) {}
  void bytes_written(std::uint64_t) {}
  void candidates(std::uint64_t) {}
  void add(const CountNothing&) {}
  Work total() const { return {}; }
};

/// Calls `body` with fresh counters of the kind that the context asks for.
template <class Body>
auto with_counters(const Context& context, Body&& body) {
  return context.count_work ? body(CountWork{}) : body(CountNothing{});
}

/// Calls `solve(Key{}, counters)` with the type of the problem's keys and with the counters that the context asks for.
template <class Solve>
auto with_key_and_counters(const SkylineProblem& problem, const Context& context, const Solve& solve) {
  return with_counters(context, [&](auto counters) {
    return problem.keys.front().width == KeyWidth::bytes8 ? solve(std::uint64_t{}, counters)
                                                          : solve(std::uint32_t{}, counters);
  });
}

}  // namespace skyrank::kernels
