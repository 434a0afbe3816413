#include "engine/operators/group/coded_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/column_traits.hpp"
#include "engine/expression/load.hpp"
#include "engine/operators/group/slots/group_table.hpp"
#include "engine/operators/group/slots/slot_states.hpp"
#include "engine/operators/group/slots/value_code.hpp"
#include "engine/runtime/query_memory.hpp"
#include "kernels/common/hash.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {

/// The values of groups, each with its number. NULL is a value like any.
class CodedKeys {
 public:
  explicit CodedKeys(const Column& announced) : announced_(announced) {}
  virtual ~CodedKeys() = default;

  /// Writes the groups of some entries of a column of values, new ones where no group has the value. Entry -1 is NULL.
  virtual void number(const Column& values, std::span<const std::int64_t> entries, std::uint32_t* groups) = 0;
  /// Gives a group the value of an equal entry: zeros differ in their sign, and NaNs in their bits.
  virtual void replace(std::uint32_t group, const Column& values, std::int64_t entry) = 0;
  /// Returns the values of groups in an order.
  virtual Column in_order(std::span<const std::int64_t> groups) const = 0;

  std::int64_t null_group() const { return null_group_; }

 protected:
  const Column announced_;        // of the schema
  std::int64_t null_group_ = -1;  // -1: none
};

namespace {

constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

/// Numbers, dates and times, stored as T, and strings.
template <class T>
class KeysOf final : public CodedKeys {
  static constexpr bool kIsText = std::is_same_v<T, std::string>;

 public:
  using CodedKeys::CodedKeys;

  void number(const Column& values, std::span<const std::int64_t> entries, std::uint32_t* groups) override {
    std::uint64_t hashes[kBlockRows];
    for (std::size_t begin = 0; begin < entries.size(); begin += kBlockRows) {
      const auto block = entries.subspan(begin, std::min<std::size_t>(kBlockRows, entries.size() - begin));
      for (std::size_t i = 0; i < block.size(); ++i) {
        hashes[i] = block[i] < 0 ? 0 : hash_of(value_at(values, block[i]));
        table_.prefetch(hashes[i]);
      }
      for (std::size_t i = 0; i < block.size(); ++i) {
        groups[begin + i] =
            block[i] < 0 ? find_or_insert_null() : find_or_insert(value_at(values, block[i]), hashes[i]);
      }
    }
  }

  void replace(std::uint32_t group, const Column& values, std::int64_t entry) override {
    if (entry >= 0) values_[group] = value_at(values, entry);
  }

  Column in_order(std::span<const std::int64_t> groups) const override {
    QueryMemory::hold(groups.size() * sizeof(T));
    std::vector<T> values;
    values.reserve(groups.size());
    for (const std::int64_t group : groups) values.push_back(values_[static_cast<std::size_t>(group)]);
    std::vector<bool> valid;
    if (null_group_ >= 0) {
      for (const std::int64_t group : groups) valid.push_back(group != null_group_);
    }
    return with_traits(made(std::move(values), valid), traits_of(announced_.data()));
  }

 private:
  std::int64_t next() const { return static_cast<std::int64_t>(values_.size()); }

  std::uint32_t find_or_insert(const auto& value, std::uint64_t hash) {
    const auto is_equal = [&](std::int64_t group, std::int64_t) {
      if constexpr (kIsText) return values_[static_cast<std::size_t>(group)] == value;
      return true;  // hashes of numbers are a permutation of their codes
    };
    const std::uint32_t group = table_.find_or_insert(next(), hash, is_equal);
    if (group != next()) return group;
    if constexpr (kIsText) texts_.add(value.size());
    values_.emplace_back(value);
    return group;
  }

  std::uint32_t find_or_insert_null() {
    if (null_group_ < 0) {
      null_group_ = table_.append(next());
      values_.emplace_back();
    }
    return static_cast<std::uint32_t>(null_group_);
  }

  Column made(std::vector<T> values, const std::vector<bool>& valid) const {
    if constexpr (kIsText) {
      return Column::own(announced_.name(), values, valid);
    } else {
      return Column::own_as(announced_.name(), announced_.type(), std::move(values), valid);
    }
  }

  static auto value_at(const Column& values, std::int64_t entry) {
    const ColumnData& data = values.data();
    if constexpr (kIsText) {
      return data.string_at(entry);
    } else {
      T value;
      std::memcpy(&value, static_cast<const std::byte*>(data.values) + entry * data.stride, sizeof(T));
      return value;
    }
  }

  static std::uint64_t hash_of(const auto& value) {
    if constexpr (kIsText) {
      return std::hash<std::string_view>{}(value);
    } else {
      return kernels::mix(code_of(value));
    }
  }

  GroupTable table_;
  Vector<T> values_;       // by group
  kernels::Charge texts_;  // counts what strings have beside that
};

/// Calls f with a value of the type that stores keys; returns f's result, or `otherwise` for types that no key has.
template <class F, class Otherwise>
auto with_key_type(DataType type, const Otherwise& otherwise, const F& f) -> decltype(otherwise()) {
  if (type.type == Type::string) return f(std::string());
  if (type.type == Type::boolean) return otherwise();
  return with_stored_type(type.type, [&]<class T>(T value) -> decltype(otherwise()) {
    if constexpr (std::is_arithmetic_v<T>) return f(value);
    return otherwise();
  });
}

std::unique_ptr<CodedKeys> keys_of(const Column& announced) {
  using Keys = std::unique_ptr<CodedKeys>;
  return with_key_type(
      announced.type(), [] { return Keys(); },
      [&]<class T>(const T&) -> Keys { return std::make_unique<KeysOf<T>>(announced); });
}

/// The rows of a unit that have each code; the code after the last stands for NULL.
struct CodeCounts {
  explicit CodeCounts(const UnitCodes& unit)
      : counts(static_cast<std::size_t>(unit.values.size()) + 1), firsts(counts.size()) {
    const auto* const codes = static_cast<const std::uint32_t*>(unit.codes.data().values);
    const std::int64_t rows = unit.codes.size();
    const auto null = static_cast<std::uint32_t>(unit.values.size());
    const bool has_nulls = unit.codes.may_have_nulls();
    const std::stop_token& stop = current_stop();
    for (std::int64_t begin = 0; begin < rows; begin += kBlockRows) {
      check_at(begin, stop);
      const std::int64_t end = std::min(rows, begin + kBlockRows);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint32_t code = has_nulls && unit.codes.is_null(i) ? null : codes[i];
        if (counts[code]++ == 0) firsts[code] = static_cast<std::uint32_t>(i);
      }
    }
  }

  Vector<std::uint32_t> counts;
  Vector<std::uint32_t> firsts;  // the first row
};

/// Returns the group of each row.
RawVector<std::uint32_t> groups_of_rows(const UnitCodes& unit, std::span<const std::uint32_t> group_of) {
  const auto* const codes = static_cast<const std::uint32_t*>(unit.codes.data().values);
  RawVector<std::uint32_t> groups(static_cast<std::size_t>(unit.codes.size()));
  if (!unit.codes.may_have_nulls()) {
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = group_of[codes[i]];
    return groups;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = unit.codes.is_null(static_cast<std::int64_t>(i)) ? group_of.back() : group_of[codes[i]];
  }
  return groups;
}

/// Returns the place of the first aggregate with the states of another.
std::size_t place_of_states(const query::BoundGroup& group, std::size_t a) {
  const auto same = [&](const query::BoundAggregate& other) { return share_states(other, group.aggregates[a]); };
  const auto found = std::ranges::find_if(group.aggregates, same);
  return found == group.aggregates.end() ? a : static_cast<std::size_t>(found - group.aggregates.begin());
}

}  // namespace

bool CodedGroups::are_possible(const query::BoundGroup& group, const Table& schema) {
  if (group.columns.size() != 1) return false;
  const DataType type = schema.column(group.columns.front()).type();
  return with_key_type(
             type, [] { return false; }, [](const auto&) { return true; }) &&
         std::ranges::all_of(group.aggregates, [](const auto& one) { return GrowingAggregate::is_possible(one); });
}

CodedGroups::CodedGroups(const query::BoundGroup& group, const Table& schema)
    : group_(group), keys_(keys_of(schema.column(group.columns.front()))) {
  for (std::size_t a = 0; a < group.aggregates.size(); ++a) {
    const query::BoundAggregate& aggregate = group.aggregates[a];
    const bool has_own = aggregate.argument && place_of_states(group, a) == a;
    aggregates_.push_back(has_own ? GrowingAggregate::of(aggregate) : nullptr);
  }
}

CodedGroups::CodedGroups(CodedGroups&&) noexcept = default;
CodedGroups::~CodedGroups() = default;

std::int64_t CodedGroups::sink(const UnitCodes& codes, const Table& unit, RowId first_row) {
  const CodeCounts found(codes);
  const std::size_t null = found.counts.size() - 1;
  Vector<std::int64_t> entries;
  Vector<GroupMembers> members;
  for (std::size_t code = 0; code < found.counts.size(); ++code) {
    if (found.counts[code] == 0) continue;
    entries.push_back(code == null ? -1 : static_cast<std::int64_t>(code));
    members.push_back({first_row + found.firsts[code], found.counts[code]});
  }
  const Vector<std::uint32_t> groups = add(codes.values, entries, members);
  const bool reads_rows = std::ranges::any_of(aggregates_, [](const auto& states) { return states != nullptr; });
  if (!reads_rows) return std::ssize(entries);
  Vector<std::uint32_t> group_of(found.counts.size(), kNoGroup);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    group_of[entries[i] < 0 ? null : static_cast<std::size_t>(entries[i])] = groups[i];
  }
  const RawVector<std::uint32_t> of_rows = groups_of_rows(codes, group_of);
  for (const auto& states : aggregates_) {
    if (states == nullptr) continue;
    states->resize(size());
    states->sink(unit, of_rows, first_row);
  }
  return std::ssize(entries);
}

/// Adds groups of other rows, which have entries of a column as their values; returns their numbers here.
Vector<std::uint32_t> CodedGroups::add(const Column& values, std::span<const std::int64_t> entries,
                                       std::span<const GroupMembers> members) {
  constexpr std::size_t kMembersAhead = 16;
  Vector<std::uint32_t> groups(entries.size());
  keys_->number(values, entries, groups.data());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i + kMembersAhead < groups.size()) __builtin_prefetch(members_.data() + groups[i + kMembersAhead]);
    const std::uint32_t group = groups[i];
    if (group == members_.size()) {
      members_.push_back(members[i]);
      continue;
    }
    GroupMembers& known = members_[group];
    known.count += members[i].count;
    if (members[i].first >= known.first) continue;
    known.first = members[i].first;
    keys_->replace(group, values, entries[i]);
  }
  return groups;
}

void CodedGroups::combine(const CodedGroups& other) {
  Vector<std::int64_t> entries(other.size());
  std::iota(entries.begin(), entries.end(), std::int64_t{0});
  const Column values = other.keys_->in_order(entries);
  if (const std::int64_t null = other.keys_->null_group(); null >= 0) entries[static_cast<std::size_t>(null)] = -1;
  const Vector<std::uint32_t> to = add(values, entries, other.members_);
  for (std::size_t a = 0; a < aggregates_.size(); ++a) {
    if (aggregates_[a] == nullptr) continue;
    aggregates_[a]->resize(size());
    aggregates_[a]->combine(*other.aggregates_[a], to);
  }
}

Grouped CodedGroups::finish(std::int64_t rows) const {
  const auto count = static_cast<std::int64_t>(size());
  const SlotOrder order =
      order_slots(count, rows, [&](std::int64_t group) { return members_[static_cast<std::size_t>(group)].first; });
  std::vector<Column> columns{keys_->in_order(order.slots)};
  for (std::size_t a = 0; a < aggregates_.size(); ++a) {
    const query::BoundAggregate& aggregate = group_.aggregates[a];
    columns.push_back(aggregate.argument ? aggregates_[place_of_states(group_, a)]->finish(aggregate, order)
                                         : Column::own(aggregate.name, counts_in_order(order.slots)));
  }
  return {Table(std::move(columns)), Vector<RowId>(order.first.begin(), order.first.end()), "numbered by codes"};
}

std::vector<std::int64_t> CodedGroups::counts_in_order(std::span<const std::int64_t> groups) const {
  QueryMemory::hold(groups.size() * sizeof(std::int64_t));
  std::vector<std::int64_t> counts;
  counts.reserve(groups.size());
  for (const std::int64_t group : groups) counts.push_back(members_[static_cast<std::size_t>(group)].count);
  return counts;
}

}  // namespace skyrank::exec
