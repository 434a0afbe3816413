#include "tools/bench/measure.hpp"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <type_traits>

#include "kernels/common/noted_work.hpp"
#include "kernels/cuda/device/array.hpp"
#include "planner/cost/models.hpp"
#include "tools/bench/floor.hpp"
#include "tools/bench/judge.hpp"
#include "tools/bench/look.hpp"
#include "tools/bench/memory.hpp"
#include "tools/bench/residence/residence.hpp"

namespace skyrank::bench {
namespace {

using kernels::Context;

/// Requests a stop when `seconds` have passed, and when `outer` does.
class Deadline {
 public:
  Deadline(double seconds, const std::stop_token& outer)
      : forward_(outer, [this] { source_.request_stop(); }),
        timer_([this, seconds](const std::stop_token& done) { wait(seconds, done); }) {}

  std::stop_token token() const { return source_.get_token(); }

 private:
  void wait(double seconds, const std::stop_token& done) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, done, std::chrono::duration<double>(seconds), [&] { return done.stop_requested(); });
    if (!done.stop_requested()) source_.request_stop();
  }

  std::stop_source source_;
  std::stop_callback<std::function<void()>> forward_;
  std::jthread timer_;
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// One algorithm while its cell is measured.
template <class Algorithm>
struct Contender {
  const Algorithm* algorithm = nullptr;
  std::vector<double> samples;
  std::vector<std::size_t> answers;  ///< the answers of its runs, by their place in Answers
  std::size_t result_size = 0;
  kernels::Work work;
  std::uint64_t cell_tests = 0;
  std::vector<kernels::StageWork> stages;
  std::optional<std::uint64_t> extra_memory;
  kernels::DeviceTimes transfers;  ///< transfers of the run that counts work
  double seconds = 0;              ///< time of its runs so far, without the one that counts work
  bool overran = false;            ///< its first run went over the budget
};

/// The different answers to one problem.
class Answers {
 public:
  std::size_t place_of(Answer answer) {
    const auto known = std::ranges::find(answers_, answer);
    if (known != answers_.end()) return static_cast<std::size_t>(known - answers_.begin());
    answers_.push_back(std::move(answer));
    return answers_.size() - 1;
  }
  const std::vector<Answer>& all() const { return answers_; }

 private:
  std::vector<Answer> answers_;
};

/// Returns true if the algorithms of a cell leave their answers unordered.
bool is_unordered(const Cell& cell) {
  const auto ordered = cell.parameters.find("ordered");
  const bool may_be = cell.ties == kernels::TieRule::first || cell.ties == kernels::TieRule::any;
  return cell.op == Op::topk && may_be && ordered != cell.parameters.end() && ordered->second == 0;
}

/// Runs the algorithms of one cell, inside its arena.
template <class Algorithm>
class Rounds {
 public:
  using Problem = typename Algorithm::Problem;
  using Contenders = std::vector<Contender<Algorithm>>;

  Rounds(const Problem& problem, const Cell& cell, const MeasureOptions& options,
         std::span<const Algorithm* const> algorithms, KeptData& kept)
      : problem_(problem), cell_(cell), options_(options), kept_(kept), is_unordered_(is_unordered(cell)) {
    for (const Algorithm* algorithm : algorithms) contenders_.emplace_back().algorithm = algorithm;
    const auto on_gpu = [](const Algorithm* it) { return it->device == kernels::Device::cuda; };
    on_cpu_ = !std::ranges::all_of(algorithms, on_gpu);
    if (!std::ranges::any_of(algorithms, on_gpu)) return;
    if (!kept.gpu) kept.gpu = std::make_unique<Residence>(problem.keys, problem.n);
    gpu_ = kept.gpu.get();
  }

  void run() {
    const int rounds = cell_.warmups + cell_.repeats;
    for (int round = 0; round < rounds; ++round) {
      const bool timed = round >= cell_.warmups;
      options_.status(fmt::format("round {} of {}", round + 1, rounds));
      run_floor(timed);
      for (Contender<Algorithm>& it : contenders_) {
        if (!spent(it)) run_once(it, round, timed);
      }
      if (round == 0) drop_overruns();
    }
    for (Contender<Algorithm>& it : contenders_) count_work(it);
  }

  std::optional<Times> floor(kernels::Device device) const {
    const auto& samples = device == kernels::Device::cpu ? floor_samples_ : gpu_floor_samples_;
    return samples.empty() ? std::nullopt : std::optional(times_of(samples));
  }
  const Contenders& contenders() const { return contenders_; }
  const Contenders& overruns() const { return overruns_; }
  const Answers& answers() const { return answers_; }

 private:
  /// Returns the seconds after which no algorithm that was timed runs again.
  double enough_s() const { return cell_.enough_s > 0 ? std::min(cell_.enough_s, cell_.budget_s) : cell_.budget_s; }
  bool spent(const Contender<Algorithm>& it) const { return !it.samples.empty() && it.seconds >= enough_s(); }

  void run_floor(bool timed) {
    if constexpr (std::is_same_v<Algorithm, kernels::TopKAlgorithm>) {
      if (on_cpu_) run_cpu_floor(timed);
    }
    if (gpu_ != nullptr) {
      gpu_->evict();
      const double ms = gpu_->read_ms();
      if (timed) gpu_floor_samples_.push_back(ms);
    }
  }

  void run_cpu_floor(bool timed) {
    if constexpr (std::is_same_v<Algorithm, kernels::TopKAlgorithm>) {
      const auto start = std::chrono::steady_clock::now();
      // The result is used, or the compiler might leave the work out.
      [[maybe_unused]] const volatile std::uint64_t greatest = parallel_maximum(problem_.keys, problem_.n);
      if (timed) floor_samples_.push_back(milliseconds_since(start));
    }
  }

  void run_once(Contender<Algorithm>& it, int round, bool timed) {
    const bool first = round == 0;
    std::optional<Deadline> deadline;
    if (first) {
      options_.status(fmt::format("first run of {}", it.algorithm->name));
      deadline.emplace(cell_.budget_s, options_.stop);
    }
    Context context;
    context.stop = first ? deadline->token() : options_.stop;
    if (runs_on_gpu(it)) gpu_->evict();
    const auto start = std::chrono::steady_clock::now();
    try {
      auto solution = solve(it, context, round, timed);
      const double ms = milliseconds_since(start);
      const double its_ms = runs_on_gpu(it) ? solution.times.run_ms : ms;
      it.seconds += its_ms / 1e3;
      if (timed || (first && it.seconds >= enough_s())) it.samples.push_back(its_ms);
      it.overran = first && it.seconds > cell_.budget_s;
      if (!timed || !is_unordered_) take_answer(it, solution.rows);
    } catch (const kernels::Cancelled&) {
      if (options_.stop.stop_requested()) throw;
      it.overran = true;
    }
  }

  void drop_overruns() {
    const auto over =
        std::stable_partition(contenders_.begin(), contenders_.end(), [](const auto& it) { return !it.overran; });
    overruns_.assign(over, contenders_.end());
    contenders_.erase(over, contenders_.end());
  }

  void count_work(Contender<Algorithm>& it) {
    options_.status(fmt::format("counting the work of {}", it.algorithm->name));
    Context context;
    context.stop = options_.stop;
    context.count_work = true;
    // An answer without order is checked once.
    const bool is_checked = is_unordered_ && !it.answers.empty();
    // One of the algorithms on a GPU starts from the host, so that the way of the keys is timed too.
    const bool from_host = !runs_on_gpu(it) || !kept_.h2d_ms;
    const auto count = [&] {
      kernels::noted_stages().clear();
      kernels::noted_cell_tests() = 0;
      auto solution = from_host ? it.algorithm->run(problem_, values_for(it, 0, is_checked), context)
                                : solve(it, context, 0, is_checked);
      it.work = solution.work;
      it.cell_tests = kernels::noted_cell_tests();
      if constexpr (requires { solution.stages; }) {
        it.stages = std::move(solution.stages);
      } else {
        it.stages = std::move(kernels::noted_stages());
      }
      it.transfers = solution.times;
      if (!is_checked) take_answer(it, solution.rows);
    };
    if (!runs_on_gpu(it)) {
      it.extra_memory = extra_memory(count);
      return;
    }
    const auto solution = (kernels::cuda::peak_temporary_bytes(), solve(it, {}, 0, true));
    it.extra_memory = kernels::cuda::peak_temporary_bytes() - gpu_->bytes();
    count();
    if (from_host) kept_.h2d_ms = it.transfers.h2d_ms;
    it.transfers.h2d_ms = *kept_.h2d_ms;
  }

  void take_answer(Contender<Algorithm>& it, std::span<const kernels::RowId> rows) {
    it.result_size = rows.size();
    it.answers.push_back(
        answers_.place_of(is_unordered_ ? as_set(rows, problem_.n) : Answer(rows.begin(), rows.end())));
  }

  bool runs_on_gpu(const Contender<Algorithm>& it) const {
    return gpu_ != nullptr && it.algorithm->device == kernels::Device::cuda;
  }

  /// With the keys where the algorithm runs.
  auto solve(const Contender<Algorithm>& it, const Context& context, int round, bool timed) const {
    Problem problem = problem_;
    if (runs_on_gpu(it)) {
      problem.keys = gpu_->keys();
      problem.memory = kernels::Memory::device;
    }
    return it.algorithm->run(problem, values_for(it, round, timed), context);
  }

  kernels::ParameterValues values_for(const Contender<Algorithm>& it, int round, bool timed) const {
    Parameters parameters = cell_.parameters;
    const auto set = [&](std::string_view name, std::int64_t value) {
      if (!kernels::check_parameters(it.algorithm->parameters, {{std::string(name), value}}).empty()) return;
      parameters.insert_or_assign(std::string(name), value);
    };
    if (cell_.seed_each_run) set("seed", round);
    if (is_unordered_ && timed) set("returned", 0);
    return {it.algorithm->parameters, std::move(parameters)};
  }

  const Problem& problem_;
  const Cell& cell_;
  const MeasureOptions& options_;
  KeptData& kept_;
  bool is_unordered_;
  bool on_cpu_ = false;
  Contenders contenders_;
  Contenders overruns_;
  std::vector<double> floor_samples_;
  std::vector<double> gpu_floor_samples_;
  const Residence* gpu_ = nullptr;
  Answers answers_;
};

std::vector<std::string> faults_of(const kernels::SkylineProblem& problem, const Cell& /*cell*/,
                                   const std::vector<Answer>& answers, KeptData& /*kept*/) {
  return judge(problem, answers);
}

std::vector<std::string> faults_of(const kernels::TopKProblem& problem, const Cell& cell,
                                   const std::vector<Answer>& answers, KeptData& kept) {
  return is_unordered(cell) ? judge_sets(problem, answers, kept.reference) : judge(problem, answers, kept.reference);
}

/// The first thing wrong with the answers of one algorithm.
template <class Algorithm>
std::string fault_of(const Contender<Algorithm>& it, const std::vector<std::string>& faults) {
  for (const std::size_t answer : it.answers) {
    if (!faults[answer].empty()) return faults[answer];
  }
  return {};
}

template <class Algorithm>
Measurement measurement_of(const Contender<Algorithm>& it, const std::vector<std::string>& faults,
                           const std::optional<Times>& floor) {
  return {.algorithm = std::string(it.algorithm->name),
          .device = it.algorithm->device,
          .times = times_of(it.samples),
          .floor = floor,
          .h2d_ms = it.transfers.h2d_ms,
          .d2h_ms = it.transfers.d2h_ms,
          .runs = static_cast<int>(it.samples.size()),
          .work = it.work,
          .cell_tests = it.cell_tests,
          .stages = it.stages,
          .extra_memory = it.extra_memory,
          .result_size = it.result_size,
          .fault = fault_of(it, faults)};
}

bool has_model(const kernels::SkylineAlgorithm& it) { return planner::cost::skyline_model(it.name).cost != nullptr; }
bool has_model(const kernels::TopKAlgorithm& it) { return planner::cost::topk_model(it.name).cost != nullptr; }

/// Predicts milliseconds of each measured algorithm as the planner does, with the cell's parameters, the keys being
/// where the algorithm runs; of a GPU's without the way of the answer, which the times do not have either.
template <class Algorithm>
void predict_all(const typename Algorithm::Problem& problem, std::span<const Algorithm* const> algorithms,
                 CellResult& result) {
  const planner::Machine machine{.threads = result.cell.threads, .cuda = true};
  planner::Statistics statistics = look_at(problem, problem.keys, 1, machine);
  for (Measurement& it : result.measured) {
    const Algorithm* const algorithm = *std::ranges::find(algorithms, it.algorithm, &Algorithm::name);
    if (!has_model(*algorithm)) continue;
    const bool on_gpu = it.device == kernels::Device::cuda;
    statistics.memory = on_gpu ? kernels::Memory::device : kernels::Memory::host;
    const planner::cost::Cost cost =
        planner::cost_of(algorithm->name, shape_of(problem), machine, statistics, result.cell.parameters);
    it.predicted_ms = 1e3 * planner::seconds_on_device(cost);
  }
}

/// Has the threads of an arena started, so that the first run need not.
void start_threads(int threads) {
  tbb::parallel_for(0, 64 * threads, [](int) { std::this_thread::yield(); });
}

template <class Algorithm>
std::vector<std::string> measure_all(const typename Algorithm::Problem& problem,
                                     std::span<const Algorithm* const> algorithms, const MeasureOptions& options,
                                     CellResult& result, KeptData& kept) {
  if (algorithms.empty()) return {};
  const auto threads = static_cast<std::size_t>(result.cell.threads);
  const tbb::global_control more_threads(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(result.cell.threads);
  Rounds<Algorithm> rounds(problem, result.cell, options, algorithms, kept);
  arena.execute([&] {
    start_threads(result.cell.threads);
    rounds.run();
  });
  options.status("checking the answers");
  const std::vector<std::string> faults = faults_of(problem, result.cell, rounds.answers().all(), kept);
  for (const auto& it : rounds.contenders()) {
    result.measured.push_back(measurement_of(it, faults, rounds.floor(it.algorithm->device)));
  }
  predict_all(problem, algorithms, result);
  std::vector<std::string> overran;
  for (const auto& it : rounds.overruns()) {
    overran.emplace_back(it.algorithm->name);
    result.skipped.push_back({overran.back(), fmt::format("took more than {} s", result.cell.budget_s)});
  }
  return overran;
}

}  // namespace

std::vector<std::string> measure(const kernels::SkylineProblem& problem,
                                 std::span<const kernels::SkylineAlgorithm* const> algorithms,
                                 const MeasureOptions& options, CellResult& result, KeptData& kept) {
  return measure_all(problem, algorithms, options, result, kept);
}

std::vector<std::string> measure(const kernels::TopKProblem& problem,
                                 std::span<const kernels::TopKAlgorithm* const> algorithms,
                                 const MeasureOptions& options, CellResult& result, KeptData& kept) {
  return measure_all(problem, algorithms, options, result, kept);
}

Times times_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  const std::size_t half = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  return {median, samples.front(), samples.back()};
}

}  // namespace skyrank::bench
