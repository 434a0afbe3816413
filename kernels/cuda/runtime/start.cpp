#include "kernels/cuda/runtime/start.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace skyrank::kernels::cuda {
namespace {

std::atomic<Started> last_step = Started::nothing;
std::atomic<int> number_of_process = 0;

/// The model in one of the driver's files, or empty: a line "Model:", spaces, and the name.
std::string model_in(const std::filesystem::path& file) {
  constexpr std::string_view kLabel = "Model:";
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(kLabel)) continue;
    const std::size_t start = line.find_first_not_of(" \t", kLabel.size());
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

}  // namespace

Started started() noexcept { return last_step.load(std::memory_order_relaxed); }

void note_started(Started step) noexcept {
  Started before = started();
  while (before < step && !last_step.compare_exchange_weak(before, step, std::memory_order_relaxed)) continue;
}

void set_process_device(int number) noexcept { number_of_process.store(number, std::memory_order_relaxed); }

int process_device() noexcept { return number_of_process.load(std::memory_order_relaxed); }

bool shows_gpu() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored);
}

std::vector<std::string> gpu_models() {
  std::vector<std::string> models;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/driver/nvidia/gpus", error), end; !error && it != end;
       it.increment(error)) {
    if (std::string model = model_in(it->path() / "information"); !model.empty()) models.push_back(std::move(model));
  }
  return models;
}

}  // namespace skyrank::kernels::cuda
