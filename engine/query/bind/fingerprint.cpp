#include "engine/query/bind/fingerprint.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include <skyrank/partial.hpp>

#include "engine/query/check.hpp"
#include "engine/query/written_names.hpp"

namespace skyrank {
inline namespace v0 {
namespace {

/// FNV-1a (Fowler, Noll, Vo) in 64 bits over texts, each with its length, so that no two lists of texts run together.
class Hash {
 public:
  void add_text(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
  }
  void add(std::int64_t number) {
    for (int byte = 0; byte < 8; ++byte)
      add_byte(static_cast<std::uint8_t>(static_cast<std::uint64_t>(number) >> (8 * byte)));
  }
  void add(std::optional<std::int64_t> number) {
    add(std::int64_t{number.has_value()});
    add(number.value_or(0));
  }
  void add(const Expression& expression) { add_text(expression.text()); }
  void add(const std::optional<Expression>& expression) { add_text(expression ? expression->text() : ""); }
  void add(const Value& value) {
    add(static_cast<std::int64_t>(value.index()));
    add_text(to_string(value));
  }
  template <class T>
  void add(const std::vector<T>& items) {
    add(static_cast<std::int64_t>(items.size()));
    for (const T& item : items) add(item);
  }
  void add(const Aggregate& aggregate) {
    add_text(aggregate.name);
    add(static_cast<std::int64_t>(aggregate.function));
    add(aggregate.argument);
  }
  void add(const RankTerm& term) {
    add(term.expression);
    add(std::int64_t{term.high});
  }
  void add(const GroupKey& key) { add(key, key); }
  /// Adds a key that is `named` in a table, where that counts.
  void add(const GroupKey& key, const GroupKey& named) {
    if (key.name == query::output_name(key.expression)) return add(named.expression);
    add(key.expression);
    add_text(" as ");
    add_text(key.name);
  }
  void add(const std::vector<GroupKey>& keys, const std::vector<GroupKey>& named) {
    add(static_cast<std::int64_t>(keys.size()));
    for (std::size_t i = 0; i < keys.size(); ++i) add(keys[i], named[i]);
  }
  void add(const SelectItem& item) {
    add_text(item.name);
    add(item.expression);
  }
  void add(const Pick& pick) {
    add(pick.count);
    add(static_cast<std::int64_t>(pick.by));
    for (const double value : pick.reference) add(Value(value));
  }
  void add(const Preference& preference) {
    add(static_cast<std::int64_t>(preference.kind));
    add(preference.expression);
    add(preference.target);
    add(preference.upper);
    add(preference.values);
    add(preference.children);
  }

  std::string text() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(state_ >> shift) & 15];
    return text;
  }

 private:
  void add_byte(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3; }

  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace

std::string fingerprint_of(const Query& query) { return query::fingerprint_of(query, query::keys_of_table(query)); }

}  // namespace v0

std::string query::fingerprint_of(const Query& query, const std::vector<GroupKey>& keys) {
  const bool by_groups = !query.group_by().empty();
  Hash hash;
  hash.add(query.where());
  hash.add(query.group_by(), keys);
  hash.add(query.aggregate());
  if (query.having()) hash.add(query.having());
  hash.add(query.partition_by(), by_groups ? query.partition_by() : keys);
  hash.add(std::int64_t{query.prefer().has_value()});
  if (query.prefer()) hash.add(*query.prefer());
  hash.add(query.levels());
  hash.add(query.at_least());
  if (query.skyband()) hash.add(query.skyband());
  hash.add(std::int64_t{query.distinct()});
  hash.add(query.rank_by());
  hash.add(query.offset());
  hash.add(query.limit());
  for (const auto rule :
       {static_cast<int>(query.ties()), static_cast<int>(query.nan()), static_cast<int>(query.nulls())}) {
    hash.add(std::int64_t{rule});
  }
  hash.add(query.select());
  if (query.pick()) hash.add(*query.pick());
  return hash.text();
}

}  // namespace skyrank
