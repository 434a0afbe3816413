// The queries of differential.cpp over sources of many small units: Parquet files, Arrow files, Arrow streams and
// tables that a program hands over in pieces. With each of the rules that skip and without them, they are answered as
// over the table that was read whole. Answers include names, types, row ids, levels and messages.
#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>
#include <CLI/CLI.hpp>
#include <bit>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <skyrank/arrow.hpp>
#include <skyrank/batch.hpp>
#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "tests/differential/compare.hpp"
#include "tests/differential/generate.hpp"

namespace skyrank::differential {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::uint64_t seed = 1;
  int files = std::numeric_limits<int>::max();
  int seconds = std::numeric_limits<int>::max();
  int queries = 20;
  std::int64_t max_rows = 400;
  bool large = false;
  fs::path keep = "differential-failures";
};

struct Counts {
  int compared = 0;
  int wrong = 0;
  int units_skipped = 0;
  int late = 0;
  int by_units = 0;
  int refused = 0;
};

/// Rows of large tables: enough for the engine to answer by units.
constexpr std::int64_t kLargeRows = std::int64_t{1} << 17;

std::string text_of(const Column& column, std::int64_t row) {
  const Value value = column.value(row);
  // The bits, as -0.0 and NaN have to come through.
  if (const double* number = std::get_if<double>(&value)) return std::to_string(std::bit_cast<std::uint64_t>(*number));
  return column.is_null(row) ? "NULL" : "'" + to_string(value) + "'";
}

/// All of an answer as text. `ties: any` leaves open which rows there are.
std::string text_of(const Result& result, bool any_rows) {
  std::string text = std::to_string(result.table.num_rows()) + " rows\n";
  for (const Column& column : result.table.columns()) text += column.name() + " " + to_string(column.type()) + "\n";
  if (any_rows) return text;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    text += std::to_string(result.rows[i]);
    if (!result.levels.empty()) text += " level " + std::to_string(result.levels[i]);
    for (const Column& column : result.table.columns()) text += " " + text_of(column, static_cast<std::int64_t>(i));
    text += "\n";
  }
  return text;
}

/// Returns the answer of a run, or its error, as text; nothing where it does not fit the limit of memory.
template <class Input>
std::string outcome(const Engine& engine, const skyrank::Query& query, const Input& input, Counts& counts) {
  try {
    const Result result = engine.run(query, input);
    for (const RuleOutcome& rule : result.plan.rules) {
      if (rule.applied && rule.rule == "unit-pruning") ++counts.units_skipped;
      if (rule.applied && rule.rule == "late-columns") ++counts.late;
      if (rule.applied && rule.rule == "by-units") ++counts.by_units;
    }
    return text_of(result, query.ties() == Ties::any);
  } catch (const ResourceError&) {
    ++counts.refused;
    return {};
  } catch (const Error& error) {
    return std::string("error: ") + error.what();
  }
}

/// The rows in the order of some column, so that row groups have ranges of their own.
Table sorted(const Table& table, Random& random) {
  const std::string name = random.one_of(table.columns()).name();
  try {
    skyrank::Query query = skyrank::Query::from("t").rank_by({low(skyrank::Expression::column(name))});
    std::vector<SelectItem> all;
    for (const Column& column : table.columns()) {
      all.push_back({column.name(), skyrank::Expression::column(column.name())});
    }
    query.select(std::move(all));
    return Engine({.device = DeviceChoice::cpu}).run(query, table).table;
  } catch (const Error&) {
    return table;  // a column that does not rank
  }
}

void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

/// Writes row groups of a sixth of a large table at most, and of 60 rows else, in pages of a part of them.
void write(const Table& table, const fs::path& file, Random& random) {
  const bool is_large = table.num_rows() >= kLargeRows;
  parquet::WriterProperties::Builder properties;
  properties.data_pagesize(1 + random.below(is_large ? 100'000 : 200));
  properties.write_batch_size(1 + random.below(is_large ? 5'000 : 20));
  properties.data_page_version(random.chance(50) ? parquet::ParquetDataPageVersion::V1
                                                 : parquet::ParquetDataPageVersion::V2);
  if (random.chance(30)) properties.disable_dictionary();
  if (random.chance(20)) properties.disable_statistics();
  if (random.chance(50)) properties.compression(parquet::Compression::SNAPPY);
  if (random.chance(30)) properties.enable_write_page_index();
  parquet::ArrowWriterProperties::Builder arrow_properties;
  if (random.chance(50)) arrow_properties.store_schema();
  if (random.chance(20)) arrow_properties.enable_deprecated_int96_timestamps();
  const auto batch = datasets::to_arrow(table);
  const auto rows = arrow::Table::FromRecordBatches({batch}).ValueOrDie();
  const std::int64_t group_rows = is_large ? 5'000 + random.below(table.num_rows() / 6) : 1 + random.below(60);
  const auto out = arrow::io::FileOutputStream::Open(file.string()).ValueOrDie();
  require(parquet::arrow::WriteTable(*rows, arrow::default_memory_pool(), out, group_rows, properties.build(),
                                     arrow_properties.build()));
  require(out->Close());
}

/// Rows of a unit at most: a sixth of a large table, and 60 else.
std::int64_t random_unit_rows(const Table& table, Random& random) {
  return table.num_rows() >= kLargeRows ? 5'000 + random.below(table.num_rows() / 6) : 1 + random.below(60);
}

void write_arrow(const Table& table, const fs::path& file, Random& random) {
  const auto rows = arrow::Table::FromRecordBatches({datasets::to_arrow(table)}).ValueOrDie();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (random.chance(50)) {
    const auto codec = random.chance(50) ? arrow::Compression::ZSTD : arrow::Compression::LZ4_FRAME;
    options.codec = arrow::util::Codec::Create(codec).ValueOrDie();
  }
  const auto out = arrow::io::FileOutputStream::Open(file.string()).ValueOrDie();
  const auto writer = arrow::ipc::MakeFileWriter(out, rows->schema(), options).ValueOrDie();
  require(writer->WriteTable(*rows, random_unit_rows(table, random)));
  require(writer->Close());
  require(out->Close());
}

/// The rows as a stream of record batches.
std::shared_ptr<const Source> stream_of(const Table& table, Random& random) {
  const auto rows = arrow::Table::FromRecordBatches({datasets::to_arrow(table)}).ValueOrDie();
  const auto reader = std::make_shared<arrow::TableBatchReader>(rows);
  reader->set_chunksize(random_unit_rows(table, random));
  ArrowArrayStream stream{};
  require(arrow::ExportRecordBatchReader(reader, &stream));
  return arrow_source(&stream);
}

/// The rows as a program would hand them over, a run at a time.
std::shared_ptr<const Source> units_of(const Table& table, Random& random) {
  std::vector<SourceUnit> units;
  std::vector<std::int64_t> begins;
  for (std::int64_t begin = 0; begin < table.num_rows(); begin += units.back().rows) {
    begins.push_back(begin);
    units.push_back({std::min(table.num_rows() - begin, random_unit_rows(table, random))});
  }
  const auto read = [=](std::size_t unit, std::span<const int> columns) {
    std::vector<RowId> rows(static_cast<std::size_t>(units[unit].rows));
    std::iota(rows.begin(), rows.end(), begins[unit]);
    std::vector<Column> taken;
    for (const int column : columns) taken.push_back(take(table.column(column), rows));
    return Table(std::move(taken));
  };
  return unit_source(table, units, read);
}

class Case {
 public:
  Case(std::uint64_t seed, const Options& options) : seed_(seed), options_(options), random_(seed) {}

  void run(Counts& counts) {
    Input input = random_input(random_, options_.max_rows);
    std::vector<Query> queries;
    for (int i = 0; i < options_.queries; ++i) {
      queries.push_back(random_query(random_, input, names_of_engine(false)));
      queries.back().name = "q" + std::to_string(queries.size());
    }
    // Queries are drawn with an oracle that compares all pairs of rows.
    if (options_.large) input = random_input_like(input, random_, kLargeRows + random_.below(kLargeRows));
    fs::create_directories(folder_);
    // Arrow's writer does not take all layouts, the project's own does.
    datasets::write(stored(input, random_), folder_ / "stored.parquet", datasets::Format::parquet);
    Table table = datasets::read({folder_ / "stored.parquet"});
    if (random_.chance(60)) table = sorted(table, random_);
    little_memory_ = engine_with_memory_for(table);
    std::ofstream(folder_ / "batch.yaml") << yaml_of(queries, input.relation);
    const Batch batch = read_batch(folder_ / "batch.yaml");
    const int before = counts.wrong;
    write(table, folder_ / "t.parquet", random_);
    compare_file(batch, folder_ / "t.parquet", counts);
    if (!options_.large || seed_ % kLargeOfOtherKinds == 0) compare_another_kind(batch, table, counts);
    if (counts.wrong == before) fs::remove_all(folder_);
  }

 private:
  static constexpr std::uint64_t kLargeOfOtherKinds = 3;  // one large table in so many, as their queries take long

  void compare_another_kind(const Batch& batch, const Table& table, Counts& counts) {
    switch (random_.below(3)) {
      case 0: write_arrow(table, folder_ / "t.arrow", random_); return compare_file(batch, folder_ / "t.arrow", counts);
      case 1: return compare_queries(batch, table, *stream_of(table, random_), counts);
      default: return compare_queries(batch, table, *units_of(table, random_), counts);
    }
  }

  void compare_file(const Batch& batch, const fs::path& file, Counts& counts) const {
    const auto source = datasets::open_source({file});
    if (source != nullptr) return compare_queries(batch, datasets::read({file}), *source, counts);
    ++counts.wrong;
    std::fprintf(stderr, "WRONG: %s is no source\n", file.c_str());
  }

  void compare_queries(const Batch& batch, const Table& whole, const Source& source, Counts& counts) const {
    for (const skyrank::Query& query : batch.queries) compare(query, whole, source, counts);
  }

  void compare(const skyrank::Query& query, const Table& whole, const Source& source, Counts& counts) const {
    const std::string expected = outcome(*engines_.front(), query, whole, counts);
    const auto agrees = [&](const Engine& engine) {
      ++counts.compared;
      const std::string found = outcome(engine, query, source, counts);
      if (found == expected || (&engine == little_memory_.get() && may_differ(found, expected))) return true;
      ++counts.wrong;
      std::fprintf(stderr,
                   "WRONG: %s of %s\nover the table: %.2000s\nover the source: %.2000s\n  again: "
                   "skyrank_differential_sources --seed %llu --files 1 --rows %lld%s\n",
                   query.name().c_str(), folder_.c_str(), expected.c_str(), found.c_str(),
                   static_cast<unsigned long long>(seed_), static_cast<long long>(options_.max_rows),
                   options_.large ? " --large" : "");
      return false;
    };
    if (!std::ranges::all_of(engines_, [&](const auto& engine) { return agrees(*engine); })) return;
    agrees(*little_memory_);
  }

  static std::unique_ptr<Engine> engine_without(std::vector<std::string> rules) {
    return std::make_unique<Engine>(EngineOptions{.device = DeviceChoice::cpu, .without = std::move(rules)});
  }

  /// Returns true where an engine with little memory may have another outcome: none, or of two errors another one
  /// first.
  static bool may_differ(std::string_view found, std::string_view expected) {
    constexpr std::string_view kError = "error: ";
    return found.empty() || (found.starts_with(kError) && expected.starts_with(kError));
  }

  /// Returns an engine whose limit of memory is a few times a table: it answers by units, and reads columns late.
  static std::unique_ptr<Engine> engine_with_memory_for(const Table& table) {
    constexpr std::size_t kBytesOfValue = 8;
    constexpr std::size_t kTimes = 4;
    const std::size_t values = table.columns().size() * static_cast<std::size_t>(table.num_rows());
    return std::make_unique<Engine>(
        EngineOptions{.device = DeviceChoice::cpu, .memory_bytes = kTimes * kBytesOfValue * (values + 1)});
  }

  std::uint64_t seed_;
  const Options& options_;
  Random random_;
  fs::path folder_ = options_.keep / ("sources-" + std::to_string(seed_));
  std::vector<std::unique_ptr<Engine>> engines_ = [] {
    std::vector<std::unique_ptr<Engine>> engines;
    engines.push_back(engine_without({}));
    engines.push_back(engine_without({"late-columns"}));
    engines.push_back(engine_without({"unit-pruning"}));
    engines.push_back(engine_without({"by-units"}));
    engines.push_back(engine_without({"late-columns", "unit-pruning", "by-units"}));
    return engines;
  }();
  std::unique_ptr<Engine> little_memory_ = nullptr;
};

int compare_all(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  Counts counts;
  for (int i = 0; i < options.files && passed() < options.seconds && counts.wrong < 20; ++i) {
    Case(options.seed + static_cast<std::uint64_t>(i), options).run(counts);
  }
  std::printf(
      "from seed %llu in %.1f s\n%d with units skipped, %d with late columns, %d by units\n%d answers compared, %d "
      "refused for memory, %d wrong\n",
      static_cast<unsigned long long>(options.seed), passed(), counts.units_skipped, counts.late, counts.by_units,
      counts.compared, counts.refused, counts.wrong);
  // The first tables, which are all that a slow build gets to, may have no units to skip.
  constexpr int kMany = 5000;
  const bool reached = options.large ? counts.by_units > 0 : counts.units_skipped > 0 || counts.compared < kMany;
  return counts.wrong == 0 && counts.late > 0 && reached ? 0 : 1;
}

}  // namespace
}  // namespace skyrank::differential

int main(int argc, char** argv) {
  skyrank::differential::Options options;
  CLI::App app{"Random queries over sources, against the same over the tables that were read whole"};
  app.add_option("--seed", options.seed, "of the first file; the others follow")->capture_default_str();
  app.add_option("--files", options.files, "at most so many");
  app.add_option("--seconds", options.seconds, "begin no file after so many");
  app.add_option("--queries", options.queries, "of a file")->capture_default_str();
  app.add_option("--rows", options.max_rows, "of a table at most")->capture_default_str();
  app.add_flag("--large", options.large, "tables of 131072 and more rows, which are answered by units");
  app.add_option("--keep", options.keep, "folder for files that fail")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return skyrank::differential::compare_all(options);
}
