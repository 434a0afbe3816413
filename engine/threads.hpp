#pragma once

#include "kernels/cpu/threads.hpp"

// Threads that can be started, for readers and writers of files, which do not know the kernels.
namespace skyrank {

using kernels::startable_threads;
using kernels::StartableThreads;
using kernels::WorkerThreads;

}  // namespace skyrank
