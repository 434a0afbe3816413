#include "tools/mpi/share.hpp"

#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <skyrank/source.hpp>

#include "datasets/generate/generate.hpp"
#include "datasets/source.hpp"

namespace skyrank::mpi {
namespace {

/// Rows that are read and answered at a time, if units are that small.
constexpr std::int64_t kRowsAtATime = std::int64_t{1} << 22;

/// Returns the places of columns in a table, which has them.
std::vector<int> places_of(const std::vector<std::string>& columns, const Table& table) {
  std::unordered_map<std::string_view, int> places;
  for (int i = 0; i < table.num_columns(); ++i) places.emplace(table.column(i).name(), i);
  std::vector<int> found;
  for (const std::string& name : columns) found.push_back(places.at(name));
  return found;
}

Table select(const Table& table, const std::vector<int>& places) {
  if (places.empty()) return Table::with_rows(table.num_rows());
  std::vector<Column> selected;
  for (const int place : places) selected.push_back(table.column(place));
  return Table(std::move(selected));
}

Table rows_of(const Table& table, RowRange rows) {
  std::vector<RowId> ids(static_cast<std::size_t>(rows.end - rows.begin));
  std::iota(ids.begin(), ids.end(), rows.begin);
  if (table.columns().empty()) return Table::with_rows(rows.end - rows.begin);
  std::vector<Column> columns;
  for (const Column& column : table.columns()) columns.push_back(take(column, ids));
  return Table(std::move(columns));
}

/// Units of a source, of which the first begins at row `first`.
struct Units {
  std::vector<std::size_t> numbers;
  RowId first = 0;
  std::int64_t rows = 0;
};

/// Returns the units that begin in a rank's share of the rows, some at a time.
std::vector<Units> units_of(const Source& source, RowRange share) {
  std::vector<Units> groups;
  RowId row = 0;
  for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
    const std::int64_t rows = source.units()[unit].rows;
    if (rows > 0 && row >= share.begin && row < share.end) {
      if (groups.empty() || groups.back().rows + rows > kRowsAtATime) groups.push_back({{}, row, 0});
      groups.back().numbers.push_back(unit);
      groups.back().rows += rows;
    }
    row += rows;
  }
  return groups;
}

}  // namespace

RowRange share_of(std::int64_t rows, int rank, int size) {
  // In 128 bits, as the number of rows may be large.
  __extension__ using Wide = __int128;
  const auto bound = [&](int number) { return static_cast<std::int64_t>(Wide{rows} * number / size); };
  return {bound(rank), bound(rank + 1)};
}

Share::Share(const Batch& batch, int rank, int size, int threads, std::stop_token stop)
    : directory_(batch.directory), rank_(rank), size_(size), threads_(threads), stop_(std::move(stop)) {}

datasets::ColumnNames Share::column_names(const TableSpec& source) const {
  datasets::LoadOptions options;
  options.threads = threads_;
  options.stop = stop_;
  return datasets::column_names(source, directory_, options);
}

std::int64_t Share::read_units(const Source& source, const std::vector<std::string>& columns,
                               const TakeRows& take) const {
  const std::vector<int> places = places_of(columns, source.schema());
  const std::int64_t rows = num_rows(source);
  const std::vector<Units> groups = units_of(source, share_of(rows, rank_, size_));
  for (const Units& units : groups) take(select(source.read(units.numbers, places).table, places), units.first);
  if (groups.empty() && rank_ == 0) take(select(source.schema(), places), 0);
  return rows;
}

std::int64_t Share::read(const TableSpec& source, const std::vector<std::string>& columns, const TakeRows& take) const {
  if (source.generator) {
    const RowRange share = share_of(std::max<std::int64_t>(source.generator->rows, 0), rank_, size_);
    const Table table = datasets::generate_rows(*source.generator, share, threads_, source.location, stop_);
    if (table.num_rows() > 0 || rank_ == 0) take(select(table, places_of(columns, table)), share.begin);
    return source.generator->rows;
  }
  datasets::LoadOptions options;
  options.columns = columns;
  options.skip_unsupported = true;
  options.threads = threads_;
  options.stop = stop_;
  if (const auto opened = datasets::open_source(source, directory_, options)) return read_units(*opened, columns, take);
  const Table whole = datasets::load(source, directory_, options);
  const RowRange share = share_of(whole.num_rows(), rank_, size_);
  if (share.begin < share.end || rank_ == 0) take(rows_of(whole, share), share.begin);
  return whole.num_rows();
}

}  // namespace skyrank::mpi
