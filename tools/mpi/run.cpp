#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>

#include "engine/parts/states/query_state.hpp"
#include "engine/query/bound.hpp"
#include "tools/mpi/commands.hpp"
#include "tools/mpi/share.hpp"
#include "tools/skyrank/answers/answers.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/tables/batch_input.hpp"

namespace skyrank::mpi {
namespace {

/// One rank's way through a batch.
class RankRun {
 public:
  RankRun(const Batch& batch, const RunArguments& arguments, const Session& session, tools::Signals& signals)
      : batch_(batch),
        arguments_(arguments),
        session_(session),
        signals_(signals),
        engine_({.threads = arguments.run.threads, .device = arguments.run.device}),
        share_(batch, session.rank(), session.size(), arguments.run.threads, signals.stop_token()) {}

  const Engine& engine() const { return engine_; }

  /// Returns the answer of a query at rank 0, and nothing elsewhere. Throws the error of the lowest rank that has one,
  /// at rank 0.
  std::optional<tools::Answer> answer(const Query& query) {
    Gathering gathering(session_.rank(), session_.size(), arguments_.gather);
    const auto start = std::chrono::steady_clock::now();
    PartAnswer own = guarded([&] { return part_of(query); });
    const auto merge = [&](std::vector<PartAnswer> answers) {
      return guarded([&] { return merged(query, partials_of(std::move(answers))); });
    };
    auto answers = gathering.finish(std::move(own), merge, signals_.stop_token());
    if (session_.rank() != 0) return std::nullopt;
    const std::chrono::duration<double, std::milli> read = std::chrono::steady_clock::now() - start;
    if (answers.front().error) throw_error(*answers.front().error);
    return tools::Answer{.query = query,
                         .result = engine_.merge(query, partials_of(std::move(answers)), options()),
                         .input_rows = input_rows_,
                         .read_ms = read.count()};
  }

 private:
  template <class F>
  PartAnswer guarded(const F& f) const {
    try {
      return {f(), {}};
    } catch (...) {
      return {{}, rank_error(std::current_exception(), session_.rank())};
    }
  }

  RunOptions options() const {
    RunOptions options;
    options.stop = signals_.stop_token();
    options.timeout = arguments_.run.timeout;
    return options;
  }

  static std::vector<Partial> partials_of(std::vector<PartAnswer> answers) {
    std::vector<Partial> partials;
    for (PartAnswer& answer : answers) {
      if (answer.partial) partials.push_back(std::move(*answer.partial));
    }
    return partials;
  }

  /// Returns one partial answer of several; nothing of none.
  std::optional<Partial> merged(const Query& query, const std::vector<Partial>& partials) const {
    if (partials.empty()) return std::nullopt;
    return partials.size() == 1 ? partials.front() : engine_.merge_partials(query, partials, options());
  }

  /// Returns the partial answer of this rank's rows.
  std::optional<Partial> part_of(const Query& query) {
    signals_.check();
    const TableSpec& source = batch_.table(query.from());
    const datasets::ColumnNames names = share_.column_names(source);
    query::refuse_unsupported(query, query::names_of(names.names, names.unsupported), names.unsupported);
    const std::vector<std::string> columns = Engine::columns_read(query, names.names);
    std::vector<Partial> partials;
    std::size_t left = 0;
    exec::Doubling doubling;
    input_rows_ = share_.read(source, columns, [&](const Table& rows, RowId first) {
      partials.push_back(engine_.partial(query, rows, first, options()));
      left += partials.back().rows().size();
      if (!doubling.is_due(left)) return;
      partials = {*merged(query, partials)};
      left = partials.front().rows().size();
      doubling.reduced_to(left);
    });
    return merged(query, partials);
  }

  const Batch& batch_;
  const RunArguments& arguments_;
  const Session& session_;
  tools::Signals& signals_;
  Engine engine_;
  Share share_;
  std::int64_t input_rows_ = 0;
};

/// Rank 0, which writes the answers.
int write_answers(const Batch& batch, RankRun& rank, const std::unique_ptr<tools::AnswerWriter>& writer,
                  tools::Console& console) {
  for (const std::string& warning : rank.engine().warnings()) console.warn(warning);
  tools::ErrorReport errors(console);
  for (const Query& query : batch.queries) {
    tools::print_warnings(console, query);
    try {
      writer->write(*rank.answer(query));
    } catch (const CancelledError&) {
      throw;
    } catch (const Error& error) {
      console.flush();  // throws where standard output is what failed
      errors.add(error);
      writer->write_error(query, error);
    }
    console.flush();
  }
  writer->finish();
  console.flush();
  return errors.status();
}

}  // namespace

int run(const RunArguments& arguments, const Session& session, tools::Console& console, tools::Signals& signals) {
  std::optional<Batch> batch;
  std::optional<RankRun> rank;
  std::unique_ptr<tools::AnswerWriter> writer;
  const int status = together(session, console, [&] {
    batch = tools::open_batch(arguments.run.batch);
    rank.emplace(*batch, arguments, session, signals);
    if (session.rank() == 0) writer = tools::make_answer_writer(arguments.run, batch->queries.size(), console);
  });
  if (status != tools::success) return status;
  if (session.rank() == 0) return write_answers(*batch, *rank, writer, console);
  for (const Query& query : batch->queries) rank->answer(query);
  return tools::success;
}

}  // namespace skyrank::mpi
