#include "tools/mpi/distributed_top_k.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "engine/checked_size.hpp"

namespace skyrank::mpi {
namespace {

constexpr int kAnswerTag = 3;

double milliseconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string text_of(std::uint64_t value) { return std::to_string(value); }

void barrier() { check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }

int words_of(const std::vector<KeyOfRow>& keys) { return static_cast<int>(2 * keys.size()); }

}  // namespace

DistributedTopK::DistributedTopK(const DistributedPlan& plan, const Session& session,
                                 const kernels::TopKAlgorithm& algorithm, const VectorSpec& spec, std::stop_token stop)
    : plan_(plan),
      session_(session),
      algorithm_(algorithm),
      spec_(spec),
      k_(std::min(plan.k, spec.rows)),
      sub_vectors_(spec.rows, plan.sub_vector, session.size()),
      part_(spec, sub_vectors_, session.rank(), algorithm.device == kernels::Device::cuda) {
  context_.stop = std::move(stop);
}

Times DistributedTopK::run() {
  part_.load(0);
  barrier();
  Times times;
  times.total = milliseconds_of([&] {
    begin_to_receive();
    local_top_k(times);
    if (!plan_.overlap) barrier();
    times.communication = session_.size() > 1 ? milliseconds_of([&] { gather(); }) : 0;
    if (session_.rank() == 0) final_top_k();
  });
  times.reload = greatest_of_ranks(times.reload);
  times.communication = greatest_of_ranks(times.communication);
  return times;
}

std::string DistributedTopK::wrong() {
  std::uint64_t size = answer_.size();
  check_mpi(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD), "MPI_Bcast");
  if (size != k_) return text_of(size) + " keys instead of " + text_of(k_);
  if (size == 0) return {};
  answer_.resize(size);
  check_mpi(MPI_Bcast(answer_.data(), static_cast<int>(2 * size), MPI_UINT64_T, 0, MPI_COMM_WORLD), "MPI_Bcast");
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0 && answer_[i] <= answer_[i - 1]) return "place " + text_of(i) + " is not behind the one before it";
    if (answer_[i].row >= spec_.rows || spec_.key(answer_[i].row) != answer_[i].key) {
      return "place " + text_of(i) + " has key " + text_of(answer_[i].key) + ", which is not that of row " +
             text_of(answer_[i].row);
    }
  }
  std::uint64_t mine = part_.count_up_to(answer_.back());
  std::uint64_t all = 0;
  check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  return all == size ? std::string() : text_of(all) + " keys are up to the last of " + text_of(size);
}

/// Keeps the k least of the answer and of other keys, both ascending.
void DistributedTopK::merge(const std::vector<KeyOfRow>& others) {
  const auto middle = static_cast<std::ptrdiff_t>(answer_.size());
  answer_.insert(answer_.end(), others.begin(), others.end());
  std::inplace_merge(answer_.begin(), answer_.begin() + middle, answer_.end());
  answer_.resize(std::min<std::size_t>(answer_.size(), k_));
}

/// Finds the k least keys of this rank's sub-vectors.
void DistributedTopK::local_top_k(Times& times) {
  answer_.clear();
  for (std::uint64_t number = 0; number < sub_vectors_.of_rank(); ++number) {
    context_.check();
    if (number > 0) times.reload += milliseconds_of([&] { part_.load(number); });
    merge(of_sub_vector(number));
  }
}

std::vector<KeyOfRow> DistributedTopK::of_sub_vector(std::uint64_t number) const {
  const std::uint64_t n = part_.size(number);
  const kernels::KeyColumn column = part_.keys(number);
  const kernels::TopKProblem problem{.n = n,
                                     .keys = {&column, 1},
                                     .k = std::min(k_, n),
                                     .ties = kernels::TieRule::first,
                                     .source = nullptr,
                                     .memory = part_.memory()};
  const auto rows = plan_.exchange_delegates ? exchanging(problem) : least(problem);
  std::vector<KeyOfRow> found;
  for (const kernels::RowId row : rows) {
    const std::uint64_t place = part_.first_row(number) + static_cast<std::uint64_t>(row);
    found.push_back({part_.key(place), place});
  }
  return found;
}

kernels::Vector<kernels::RowId> DistributedTopK::least(const kernels::TopKProblem& problem) const {
  if (problem.n == 0) return {};
  return algorithm_.run(problem, {algorithm_.parameters, {}}, context_).rows;
}

/// The same of the keys that are within the least of the k-th delegates of all ranks. All ranks exchange theirs once a
/// sub-vector, so those that have none say so.
kernels::Vector<kernels::RowId> DistributedTopK::exchanging(const kernels::TopKProblem& problem) const {
  bool exchanged = false;
  const kernels::BoundExchange exchange = [&](std::uint64_t key) {
    exchanged = true;
    std::uint64_t least = 0;
    check_mpi(MPI_Allreduce(&key, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
    return least;
  };
  kernels::Vector<kernels::RowId> rows;
  // Fewer than k rows have no bound for k.
  if (problem.k < k_ || problem.n == 0) {
    rows = least(problem);
  } else {
    rows = algorithm_.variants.part(problem, {algorithm_.parameters, {}}, context_, exchange).rows;
  }
  if (!exchanged) exchange(~std::uint64_t{0});
  return rows;
}

void DistributedTopK::begin_to_receive() {
  incoming_.clear();
  for (const int sender : senders_to(session_.rank(), session_.size(), plan_.gather)) {
    incoming_.push_back({sender, std::vector<KeyOfRow>(k_)});
  }
  for (Incoming& one : incoming_) {
    check_mpi(MPI_Irecv(one.keys.data(), words_of(one.keys), MPI_UINT64_T, one.from, kAnswerTag, MPI_COMM_WORLD,
                        &one.request),
              "MPI_Irecv");
  }
}

/// Brings all keys to rank 0. Ranks that others send to keep the k least of what they have.
void DistributedTopK::gather() {
  for (Incoming& one : incoming_) {
    MPI_Status status;
    int words = 0;
    check_mpi(MPI_Wait(&one.request, &status), "MPI_Wait");
    check_mpi(MPI_Get_count(&status, MPI_UINT64_T, &words), "MPI_Get_count");
    one.keys.resize(checked_count(words, 2 * one.keys.size(), "the number of words of an answer") / 2);
  }
  const std::optional<int> receiver = receiver_of(session_.rank(), plan_.gather);
  if (!receiver) return;
  for (const Incoming& one : incoming_) merge(one.keys);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(answer_.data(), words_of(answer_), MPI_UINT64_T, *receiver, kAnswerTag, MPI_COMM_WORLD, &request),
            "MPI_Isend");
  check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

/// Finds the k least of the keys of all ranks, by the same algorithm. Ranks have ascending rows, so that the order of
/// places is that of rows where keys are equal.
void DistributedTopK::final_top_k() {
  if (incoming_.empty()) return;
  std::vector<KeyOfRow> all = answer_;
  for (const Incoming& one : incoming_) all.insert(all.end(), one.keys.begin(), one.keys.end());
  std::vector<std::uint32_t> keys;
  for (const KeyOfRow& one : all) keys.push_back(static_cast<std::uint32_t>(one.key));
  const kernels::KeyColumn column{keys.data(), kernels::KeyWidth::bytes4};
  const auto rows = least({.n = all.size(),
                           .keys = {&column, 1},
                           .k = std::min<std::size_t>(k_, all.size()),
                           .ties = kernels::TieRule::first,
                           .source = nullptr,
                           .memory = kernels::Memory::host});
  answer_.clear();
  for (const kernels::RowId row : rows) answer_.push_back(all[static_cast<std::size_t>(row)]);
}

}  // namespace skyrank::mpi
