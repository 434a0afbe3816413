#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/skyrank.hpp>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/states/concatenate.hpp"
#include "engine/standing/saved_file.hpp"
#include "engine/standing/standing_query.hpp"
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/drawn.hpp"
#include "tests/fuzz/require.hpp"

// Standing queries. The first byte picks what is tried. In a history, the bytes are calls of any query, with small
// leaves: after each call the answer is that of `run` over the rows that are there, and a call that is refused changes
// nothing. In a file, they change a saved query, with a checksum that is right or not: it is refused with a message, or
// gives a query that answers, goes on, and is saved and loaded again as the same.
namespace {

using namespace skyrank;
using fuzz::Drawn;
using fuzz::FileInMemory;

constexpr std::size_t kMemory = std::size_t{64} << 20;

Query from() { return Query::from("t"); }

const std::vector<Query>& queries() {
  static const std::vector<Query> all = [] {
    std::vector<Query> some = {
        from().prefer({low("a"), high("f")}),
        from().where("a > 1 or a is null").prefer({high("a"), low("d")}).rank_by({low("s")}).limit(3),
        from().prefer({low("a"), high("f")}).levels(2).select({"row", "level", "s"}),
        from().prefer({low("a"), high("f")}).at_least(3).distinct(true),
        from().prefer({low("a"), low("d")}).skyband(2).rank_by({high("dominated_by()")}),
        from().prefer({low("f"), low("a")}).partition_by({"s"}).nulls(Missing::exclude),
        from().rank_by({low("f"), high("a")}).limit(3).ties(Ties::all).nan(Missing::exclude),
        from().rank_by({high("a * 3")}).limit(2).offset(1).ties(Ties::last).partition_by({"b"}),
        from().rank_by({high("d")}),
        from().group_by({"s"}).aggregate({count("n"), sum("t", "a"), avg("m", "f"), min("l", "d"), max("h", "x")}),
        from().group_by({"b"}).aggregate({sum("t", "f")}).rank_by({high("t")}).limit(1),
        from().prefer({low("a"), low("f")}).rank_by({high("dominates()")}).limit(2),
        from().prefer({low("x"), high("f")}).nan(Missing::error),
        from().rank_by({low("sqrt(a)")}).limit(2),
        from().where("b").rank_by({low("s")}).limit(2).select({"row"}),
    };
    some.push_back(from().prefer({prior({low("b"), pareto({low("a"), around("f", 1.0)})})}));
    return some;
  }();
  return all;
}

const std::array<StandingOptions, 6>& options() {
  static const std::array<StandingOptions, 6> all = {{
      {},
      {.append_only = true},
      {.window = RowWindow{3}},
      {.window = RowWindow{1}, .append_only = true},
      {.window = TimeWindow{"d", std::chrono::hours(72)}},
      {.window = TimeWindow{"x", std::chrono::seconds(5)}, .append_only = true},
  }};
  return all;
}

/// Rows of few values, so that many are equal.
Table drawn_rows(Drawn& in, std::size_t rows) {
  static constexpr std::array<double, 8> kFloats = {0.0, -0.0, 1, 2.5, -3, 1e300, 5e-324, 0};
  static const std::array<std::string, 4> kTexts = {"", "x", "yy", "\xC3\xA9"};
  std::vector<std::int64_t> a;
  std::vector<double> f;
  std::vector<std::string> s;
  std::vector<std::int32_t> d;
  std::vector<std::int64_t> x;
  std::vector<bool> b;
  std::vector<bool> has_a;
  std::vector<bool> has_s;
  std::vector<bool> has_d;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint8_t one = in.byte();
    const std::uint8_t two = in.byte();
    const bool is_large = one == 255;
    a.push_back(is_large ? std::numeric_limits<std::int64_t>::max() : one % 7 - 1);
    has_a.push_back(one % 11 != 10);
    f.push_back(two % 32 == 31 ? std::numeric_limits<double>::quiet_NaN() : kFloats[two % kFloats.size()]);
    s.push_back(kTexts[(one / 16) % kTexts.size()]);
    has_s.push_back(two % 13 != 12);
    d.push_back(two / 16);
    has_d.push_back(one % 17 != 16);
    x.push_back(one / 8);
    b.push_back(two % 2 == 1);
  }
  DataType seconds(Type::timestamp);
  seconds.unit = TimeUnit::second;
  return Table({Column::own("a", std::move(a), has_a), Column::own("f", std::move(f)), Column::own("s", s, has_s),
                Column::own_as("d", Type::date, std::move(d), has_d), Column::own_as("x", seconds, std::move(x)),
                Column::own("b", b)});
}

const Engine& engine() {
  static const Engine engine({.threads = 1, .device = DeviceChoice::cpu, .profile = ""});
  return engine;
}

const exec::EngineState& state() {
  static const exec::EngineState one(
      {.threads = 1, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = kMemory});
  return one;
}

std::string words_of(const Result& result) {
  std::string text;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    text += std::to_string(result.rows[i]);
    if (!result.levels.empty()) text += " " + std::to_string(result.levels[i]);
    for (const Column& column : result.table.columns()) {
      text += "|" + to_string(column.value(static_cast<std::int64_t>(i)));
    }
    text += '\n';
  }
  return text;
}

/// Returns the bytes of the file that a query is saved to.
std::string saved(const exec::Standing& standing) {
  const std::string name = "/dev/shm/fuzz-standing-" + std::to_string(::getpid());
  standing.save(name);
  std::ifstream stream(name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  ::unlink(name.c_str());
  return bytes;
}

std::unique_ptr<exec::Standing> loaded(const std::string& bytes, const Query& query, const StandingOptions& options,
                                       exec::TreeShape shape) {
  Drawn none(nullptr, 0);
  auto standing = std::make_unique<exec::Standing>(state(), query, drawn_rows(none, 0), options, shape);
  const FileInMemory file(bytes);
  standing->restore(file.path(), {});
  return standing;
}

/// One standing query and the rows that are there.
class History {
 public:
  explicit History(Drawn& in)
      : in_(in),
        query_(queries()[in.below(queries().size())]),
        options_(options()[in.byte() % options().size()]),
        shape_{in.byte() % 4, 1 + in.byte() % 3} {
    Drawn none(nullptr, 0);
    standing_ = std::make_unique<exec::Standing>(state(), query_, drawn_rows(none, 0), options_, shape_);
  }

  void run() {
    for (int calls = 0; calls < 60 && !in_.is_empty(); ++calls) {
      switch (in_.byte() % 8) {
        case 0:
        case 1:
        case 2: insert(in_.byte() % 5); break;
        case 3: insert(in_.byte() % 24); break;
        case 4:
        case 5: erase(); break;
        case 6: update(); break;
        default: load();
      }
    }
  }

 private:
  /// The answer over some rows; nothing where they have none.
  std::optional<Result> answer_over(const std::map<RowId, Table>& rows) const {
    std::vector<RowId> ids;
    std::vector<Table> tables;
    for (const auto& [id, row] : rows) {
      ids.push_back(id);
      tables.push_back(row);
    }
    Drawn none(nullptr, 0);
    const Table all = tables.empty() ? drawn_rows(none, 0) : exec::concatenate(tables);
    Query query = query_;
    if (query.ties() == Ties::any) query.ties(Ties::first);
    std::optional<Result> result = accepted([&] { return engine().run(query, all); });
    if (!result) return result;
    for (RowId& row : result->rows) row = ids[static_cast<std::size_t>(row)];
    std::vector<Column> columns = result->table.columns();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool is_row = query.select().empty() ? c == 0 : query.select()[c].expression.text() == "row";
      if (is_row) columns[c] = exec::row_column(result->rows, columns[c].name());
    }
    result->table = Table(std::move(columns));
    return result;
  }

  std::vector<RowId> drawn_ids() {
    std::vector<RowId> ids;
    for (std::size_t left = in_.byte() % 5; left > 0; --left) {
      const std::size_t at = in_.byte();
      if (at == 255 || there_.empty()) {
        ids.push_back(static_cast<RowId>(at) - 1);
      } else {
        ids.push_back(std::next(there_.begin(), static_cast<std::ptrdiff_t>(at % there_.size()))->first);
      }
    }
    return ids;
  }

  Int128 time_of(const Table& row) const {
    const std::string& by = std::get<TimeWindow>(options_.window).by;
    const Value value = row.column(by).value(0);
    constexpr Int128 kSecond = 1'000'000'000;
    if (const auto* day = std::get_if<Date>(&value)) return kSecond * 86'400 * day->days;
    if (const auto* time = std::get_if<Timestamp>(&value)) return kSecond * time->ticks;
    return exec::kNoTime;
  }

  /// Returns the rows that stay in the window when it has seen new ones.
  void leave_window(std::map<RowId, Table>& rows, RowId next_id, const Table& seen, Int128& greatest) const {
    if (const auto* window = std::get_if<RowWindow>(&options_.window)) {
      std::erase_if(rows, [&](const auto& row) { return row.first < next_id - window->rows; });
    } else if (const auto* by_time = std::get_if<TimeWindow>(&options_.window)) {
      for (RowId row = 0; row < seen.num_rows(); ++row) greatest = std::max(greatest, time_of(one_of(seen, row)));
      std::erase_if(rows, [&](const auto& row) {
        const Int128 time = time_of(row.second);
        return time == exec::kNoTime || time <= greatest - by_time->last.count();
      });
    }
  }

  static Table one_of(const Table& rows, RowId row) { return exec::gather(rows, std::vector<RowId>{row}); }

  /// Makes a call after which there should be `rows`, and compares the answers.
  template <class Call>
  void follow(const Call& call, std::map<RowId, Table> rows, RowId next_id, Int128 greatest) {
    const auto before = standing_->answer();
    const std::optional<Result> expected = answer_over(rows);
    const bool is_taken = accepted(call).has_value();
    SKYRANK_REQUIRE(is_taken == expected.has_value());
    if (is_taken) {
      there_ = std::move(rows);
      next_id_ = next_id;
      greatest_ = greatest;
      SKYRANK_REQUIRE(words_of(*standing_->answer()) == words_of(*expected));
    } else {
      SKYRANK_REQUIRE(standing_->answer() == before);
    }
    SKYRANK_REQUIRE(standing_->next_id() == next_id_);
  }

  void insert(std::size_t size) {
    const Table rows = drawn_rows(in_, size);
    std::map<RowId, Table> after = there_;
    for (RowId row = 0; row < rows.num_rows(); ++row) after.emplace(next_id_ + row, one_of(rows, row));
    Int128 greatest = greatest_;
    leave_window(after, next_id_ + rows.num_rows(), rows, greatest);
    follow([&] { return standing_->insert(rows, {}); }, std::move(after), next_id_ + rows.num_rows(), greatest);
  }

  /// Returns true if a call with these ids is taken.
  bool are_right(std::vector<RowId> ids) const {
    std::ranges::sort(ids);
    const bool are_there = std::ranges::all_of(ids, [&](RowId id) { return there_.contains(id); });
    return !options_.append_only && are_there && std::ranges::adjacent_find(ids) == ids.end();
  }

  void erase() {
    const std::vector<RowId> ids = drawn_ids();
    const auto call = [&] { return standing_->erase(ids, {}); };
    if (!are_right(ids)) return refuse(call);
    std::map<RowId, Table> after = there_;
    for (const RowId id : ids) after.erase(id);
    follow(call, std::move(after), next_id_, greatest_);
  }

  void update() {
    const std::vector<RowId> ids = drawn_ids();
    const Table rows = drawn_rows(in_, ids.size());
    const auto call = [&] { return standing_->update(ids, rows, {}); };
    if (!are_right(ids)) return refuse(call);
    std::map<RowId, Table> after = there_;
    for (std::size_t i = 0; i < ids.size(); ++i) after.at(ids[i]) = one_of(rows, static_cast<RowId>(i));
    Int128 greatest = greatest_;
    leave_window(after, next_id_, rows, greatest);
    follow(call, std::move(after), next_id_, greatest);
  }

  template <class Call>
  void refuse(const Call& call) {
    const auto before = standing_->answer();
    SKYRANK_REQUIRE(!accepted(call));
    SKYRANK_REQUIRE(standing_->answer() == before && standing_->next_id() == next_id_);
  }

  void load() {
    auto again = loaded(saved(*standing_), query_, options_, {in_.byte() % 4, 1 + in_.byte() % 3});
    SKYRANK_REQUIRE(words_of(*again->answer()) == words_of(*standing_->answer()));
    SKYRANK_REQUIRE(again->next_id() == next_id_ && again->num_rows() == standing_->num_rows());
    standing_ = std::move(again);
  }

  Drawn& in_;
  const Query& query_;
  const StandingOptions& options_;
  exec::TreeShape shape_;
  std::unique_ptr<exec::Standing> standing_;
  std::map<RowId, Table> there_;
  RowId next_id_ = 0;
  Int128 greatest_ = exec::kNoTime;
};

/// Replaces numbers and bytes of a file.
std::string altered(Drawn& in, std::string bytes) {
  while (!in.is_empty() && bytes.size() > 24) {
    const std::size_t place = in.below(bytes.size() - 8);
    const std::uint8_t what = in.byte();
    std::int64_t number = 0;
    std::memcpy(&number, bytes.data() + place, sizeof(number));
    switch (what % 5) {
      case 0:
      case 1:
        number = in.count(number);
        std::memcpy(bytes.data() + place, &number, sizeof(number));
        break;
      case 2: bytes[place] = static_cast<char>(in.byte()); break;
      case 3: bytes[place] = static_cast<char>(bytes[place] ^ (1 << in.byte() % 8)); break;
      default:
        if (in.byte() % 4 == 0) {
          bytes.resize(place + 8);
        } else {
          bytes.insert(place, 1 + in.byte() % 16, '\0');
        }
    }
  }
  return bytes;
}

std::string with_checksum(std::string bytes) {
  exec::Checksum checksum;
  checksum.add(std::as_bytes(std::span(bytes)));
  const std::uint64_t value = checksum.value();
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return bytes;
}

void try_file(Drawn& in) {
  const Query& query = queries()[in.below(queries().size())];
  const StandingOptions& option = options()[in.byte() % options().size()];
  Drawn none(nullptr, 0);
  exec::Standing standing(state(), query, drawn_rows(none, 0), option, {1, 1});
  if (!accepted([&] { return standing.insert(drawn_rows(in, in.byte() % 12), {}); })) return;
  std::string bytes = saved(standing);
  const std::uint8_t what = in.byte();
  if (what % 16 == 15) {
    bytes = in.rest();
  } else {
    bytes = altered(in, bytes.substr(0, bytes.size() - sizeof(std::uint64_t)));
  }
  if (what % 4 != 3) bytes = with_checksum(std::move(bytes));
  auto taken = accepted([&] { return loaded(bytes, query, option, {1, 2}); });
  if (!taken) return;
  exec::Standing& one = **taken;
  const std::string before = words_of(*one.answer());
  const auto again = loaded(saved(one), query, option, {2, 1});
  SKYRANK_REQUIRE(words_of(*again->answer()) == before && again->next_id() == one.next_id());
  const std::array<std::uint8_t, 4> more = {3, 1, 200, 18};
  Drawn values(more.data(), more.size());
  const Table rows = drawn_rows(values, 2);
  const auto here = accepted([&] { return one.insert(rows, {}); });
  const auto there = accepted([&] { return again->insert(rows, {}); });
  SKYRANK_REQUIRE(here == there && words_of(*one.answer()) == words_of(*again->answer()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Drawn in(data, size);
  if (in.byte() % 2 == 0) {
    History(in).run();
  } else {
    try_file(in);
  }
  return 0;
}
