// A table that the application reads itself, a piece at a time: queries ask for the columns and pieces that they need.
#include <cstdio>
#include <span>

#include <skyrank/skyrank.hpp>

namespace {

using namespace skyrank;

constexpr std::int64_t kRowsPerDay = 24;
constexpr std::int64_t kDays = 7;

/// Stands for storage of your own, such as one file a day: the hours of a day and their temperatures.
Table read_day(std::size_t day) {
  std::vector<std::int64_t> hours;
  std::vector<double> temperatures;
  for (std::int64_t i = 0; i < kRowsPerDay; ++i) {
    hours.push_back(static_cast<std::int64_t>(day) * kRowsPerDay + i);
    temperatures.push_back(10.0 + static_cast<double>((hours.back() * 37) % 101) / 10);
  }
  return Table({Column::own("hour", std::move(hours)), Column::own("celsius", std::move(temperatures))});
}

/// Bounds of `hour` in each day, which are known without reading: days that no query wants are not read.
std::optional<UnitStatistics> bounds(int column) {
  if (column != 0) return std::nullopt;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> last;
  for (std::int64_t day = 0; day < kDays; ++day) {
    first.push_back(day * kRowsPerDay);
    last.push_back(day * kRowsPerDay + kRowsPerDay - 1);
  }
  return UnitStatistics{Column::own("hour", first), Column::own("hour", last),
                        std::vector<std::optional<std::int64_t>>(kDays, 0)};
}

}  // namespace

int main() {
  const Table schema({Column::own("hour", std::vector<std::int64_t>{}), Column::own("celsius", std::vector<double>{})});
  const auto read = [](std::size_t day, std::span<const int>) {
    std::printf("day %zu is read\n", day);
    return read_day(day);
  };
  const auto source = unit_source(schema, std::vector<SourceUnit>(kDays, {kRowsPerDay}), read, bounds);
  const Query query = Query::from("weather").where("hour between 120 and 140").rank_by({high("celsius")}).limit(1);
  const Result result = Engine({.device = DeviceChoice::cpu}).run(query, *source);
  std::printf("warmest: hour %d\n", static_cast<int>(result.rows.front()));
}
