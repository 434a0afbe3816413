#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "kernels/common/noted_work.hpp"
#include "kernels/cuda/device/run.hpp"

namespace skyrank::kernels::cuda {

/// Notes the stages of a run that counts its work, by the device's clock and without waiting for the device in between.
class StageMarks {
 public:
  explicit StageMarks(const DeviceRun& run) : device_(run.device), wanted_(run.context.count_work) {
    if (wanted_) begin_.record(device_.stream());
  }

  /// Ends a stage that began where the one before ended. `rows`: elements that it leaves to the next.
  void end(const char* name, std::uint64_t rows) {
    if (!wanted_) return;
    Mark& mark = marks_.emplace_back(name, rows);
    mark.end.record(device_.stream());
  }

  /// Puts the stages so far into the list of noted ones. Waits for the device.
  void note() const {
    if (!wanted_) return;
    device_.synchronize();
    const Event* begin = &begin_;
    for (const Mark& mark : marks_) {
      noted_stages().push_back({.name = mark.name, .ms = mark.end.ms_since(*begin), .rows = mark.rows});
      begin = &mark.end;
    }
  }

 private:
  struct Mark {
    Mark(const char* its_name, std::uint64_t its_rows) : name(its_name), rows(its_rows) {}

    std::string name;
    std::uint64_t rows;
    Event end;
  };

  DeviceContext& device_;
  bool wanted_;
  Event begin_;
  std::deque<Mark> marks_;  // events do not move
};

}  // namespace skyrank::kernels::cuda
