#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/mpi/gather.hpp"
#include "tools/mpi/ranks.hpp"
#include "tools/skyrank/commands.hpp"

// The commands of skyrank_mpi. All ranks call them with equal arguments. They return the exit status, and throw what
// ends all ranks.
namespace skyrank::mpi {

struct RunArguments {
  tools::RunArguments run;
  GatherShape gather = GatherShape::flat;
};

/// A vector of keys that are uniform, the k least of which are found again and again.
struct TopKArguments {
  std::vector<std::uint64_t> rows;
  std::uint64_t k = 128;
  std::uint64_t sub_vector = std::uint64_t{1} << 30;  ///< most keys that a GPU holds
  std::uint64_t distinct = 0;                         ///< number of different keys; 0: as many as 32 bits have
  std::uint64_t seed = 1;
  int repeats = 5;
  std::string algorithm = "cuda-dr-topk";
  bool exchange_delegates = false;
  GatherShape gather = GatherShape::flat;
  bool overlap = false;
  std::filesystem::path out;  ///< CSV, to which lines are added; empty: none
};

/// Runs `f`, which does not wait for other ranks, on all of them. Where it throws on some, the lowest of these says
/// why, and all ranks get the exit status of that: so they end together. CancelledError is thrown on.
int together(const Session& session, tools::Console& console, const std::function<void()>& f);

/// Answers the queries of a batch, each from the partial answers of all ranks. Rank 0 writes them.
int run(const RunArguments& arguments, const Session& session, tools::Console& console, tools::Signals& signals);

/// Finds the k least keys of large vectors as distributed Dr. Top-k does, and checks them. Rank 0 prints the times.
int top_k(const TopKArguments& arguments, const Session& session, tools::Console& console, tools::Signals& signals);

}  // namespace skyrank::mpi
