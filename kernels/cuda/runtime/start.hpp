#pragma once

#include <cstdint>
#include <string>
#include <vector>

// How far this process has come in using a GPU. Before its first kernel runs, the driver has to be started and then a
// context, each in a tenth of a second or more: as long as whole queries take on the CPU. Plain C++.
namespace skyrank::kernels::cuda {

enum class Started : std::uint8_t { nothing, driver, context };

/// Returns the last step that the process has taken. Thread-safe.
Started started() noexcept;

/// Notes that a step has been taken; steps never go back. Thread-safe.
void note_started(Started step) noexcept;

/// Returns true if the system shows a GPU among its device files, which takes microseconds and starts nothing. Where it
/// shows none there may still be one, so that the driver has the last word.
bool shows_gpu();

/// Returns the models of the GPUs in the words of the driver's files, such as "NVIDIA H100 80GB HBM3", and starts
/// nothing. Empty where there are no such files.
std::vector<std::string> gpu_models();

/// Makes device `number`, which exists, the one that threads and engines use where nobody says otherwise; until then it
/// is device 0. For processes of which each is to use a device of its own, before they use any. Starts no driver.
void set_process_device(int number) noexcept;

int process_device() noexcept;

}  // namespace skyrank::kernels::cuda
