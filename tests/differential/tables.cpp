#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "tests/differential/generate.hpp"

// Random tables and their memory.
namespace skyrank::differential {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::int64_t ns_per_tick(TimeUnit unit) {
  constexpr std::int64_t kNs[] = {1'000'000'000, 1'000'000, 1'000, 1};
  return kNs[static_cast<std::size_t>(unit)];
}

Domain domain_of(DataType type) {
  if (is_signed_integer(type.type)) return {Kind::int64};
  if (is_unsigned_integer(type.type)) return {Kind::uint64};
  if (is_floating(type.type)) return {Kind::float64};
  if (type.type == Type::boolean) return {Kind::boolean};
  if (type.type == Type::date) return {Kind::date};
  if (type.type == Type::timestamp) return {Kind::timestamp, ns_per_tick(type.unit)};
  return {Kind::string};
}

// ---- Float16 ----

double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * kInfinity : kNan;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

std::uint16_t half_bits(double value) {
  if (std::isnan(value)) return 0x7e00;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::abs(value);
  if (std::isinf(value)) return sign | 0x7c00;
  if (size < std::ldexp(1.0, -14)) return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(size, 24)));
  const int exponent = std::ilogb(size);
  const int mantissa = static_cast<int>(std::ldexp(size, 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | mantissa);
}

// ---- Values ----

std::pair<Integer, Integer> limits(Type type) {
  const int bits = 8 * width_in_bytes(type);
  if (is_unsigned_integer(type)) return {0, (Integer{1} << bits) - 1};
  return {-(Integer{1} << (bits - 1)), (Integer{1} << (bits - 1)) - 1};
}

enum class Pattern { few, many, extreme, ascending, descending, constant, nulls };

const std::vector<Pattern> kPatterns = {Pattern::few,        Pattern::few,       Pattern::many,     Pattern::many,
                                        Pattern::extreme,    Pattern::ascending, Pattern::constant, Pattern::few,
                                        Pattern::descending, Pattern::nulls};

Integer integer_value(Random& random, Type type, Pattern pattern, std::int64_t row) {
  const auto [lowest, highest] = limits(type);
  const bool is_signed = lowest < 0;
  switch (pattern) {
    case Pattern::few: return random.below(7) - (is_signed ? 3 : 0);
    case Pattern::many: return std::clamp<Integer>(random.below(4000) - (is_signed ? 1500 : 0), lowest, highest);
    case Pattern::extreme:
      return random.one_of<Integer>({lowest, highest, highest - 1, 0, 1, is_signed ? Integer{-1} : Integer{2}});
    case Pattern::ascending: return std::min<Integer>(row / 2, highest);
    case Pattern::descending: return std::max<Integer>(100 - row, is_signed ? lowest : 0);
    default: return 3;
  }
}

double float_value(Random& random, Type type, Pattern pattern, std::int64_t row) {
  const auto drawn = [&]() -> double {
    switch (pattern) {
      case Pattern::few: return static_cast<double>(random.below(9) - 3) / 2;
      case Pattern::many: return static_cast<double>(random.below(20'000) - 5'000) / 64;
      case Pattern::extreme:
        return random.one_of<double>({kNan, kInfinity, -kInfinity, -0.0, 0.0, 1e-310, -1e300, 1e300, 0.1, 2.5, 1});
      case Pattern::ascending: return static_cast<double>(row) / 4;
      case Pattern::descending: return 50 - static_cast<double>(row) / 8;
      default: return 2.5;
    }
  };
  const double value = random.chance(3) ? kNan : drawn();
  if (type == Type::float32) return static_cast<float>(value);
  if (type != Type::float16) return value;
  return pattern == Pattern::extreme ? half_value(static_cast<std::uint16_t>(random.bits()))
                                     : half_value(half_bits(std::round(value)));
}

const std::vector<std::string> kWords = {
    "", "a", "b", "ab", "it's", "x", "y", "long enough to lie outside of its string", "\xc3\xa9t\xc3\xa9"};

const std::string kNullEntry = "a word that no row has";

Cell random_cell(Random& random, DataType type, Pattern pattern, std::int64_t row) {
  switch (domain_of(type).kind) {
    case Kind::boolean: return pattern == Pattern::constant ? true : random.chance(50);
    case Kind::float64: return float_value(random, type.type, pattern, row);
    case Kind::string:
      return kWords[static_cast<std::size_t>(
          pattern == Pattern::constant ? 1 : random.below(pattern == Pattern::few ? 4 : 9))];
    case Kind::date:
      return Day{pattern == Pattern::extreme ? random.one_of<Integer>({-700'000, 0, 2'000'000})
                                             : 17'000 + integer_value(random, Type::int32, pattern, row)};
    case Kind::timestamp: {
      const Integer ticks = integer_value(random, Type::int32, pattern, row);
      return Moment{Integer{1'500'000'000} * 1'000'000'000 + ticks * ns_per_tick(type.unit)};
    }
    default: return integer_value(random, type.type, pattern, row);
  }
}

const std::vector<DataType>& all_types() {
  static const std::vector<DataType> types = {Type::boolean,
                                              Type::int8,
                                              Type::int16,
                                              Type::int32,
                                              Type::int64,
                                              Type::uint8,
                                              Type::uint16,
                                              Type::uint32,
                                              Type::uint64,
                                              Type::float16,
                                              Type::float32,
                                              Type::float64,
                                              Type::date,
                                              DataType(Type::timestamp, TimeUnit::second),
                                              DataType(Type::timestamp, TimeUnit::millisecond),
                                              DataType(Type::timestamp, TimeUnit::microsecond),
                                              DataType(Type::timestamp, TimeUnit::nanosecond),
                                              Type::string};
  return types;
}

// ---- Memory ----

struct Memory {
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> validity;
  std::vector<std::uint8_t> entry_validity;  // of a dictionary
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  std::vector<std::int32_t> offsets32;
  std::vector<std::int64_t> offsets64;
};

void set_bit(std::uint8_t* bits, std::int64_t bit) {
  bits[bit / 8] = static_cast<std::uint8_t>(bits[bit / 8] | (1 << (bit % 8)));
}

std::uint64_t stored_bits(const Cell& cell, DataType type) {
  if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? 1 : 0;
  if (const auto* integer = std::get_if<Integer>(&cell)) return static_cast<std::uint64_t>(*integer);
  if (const auto* day = std::get_if<Day>(&cell)) return static_cast<std::uint64_t>(day->number);
  if (const auto* moment = std::get_if<Moment>(&cell)) {
    return static_cast<std::uint64_t>(moment->ns / ns_per_tick(type.unit));
  }
  const double value = std::get<double>(cell);
  if (type.type == Type::float16) return half_bits(value);
  if (type.type == Type::float32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

class Storage {
 public:
  Storage(Random& random, const Relation& relation, std::size_t column, DataType type, NullEntries null_entries)
      : random_(random),
        relation_(relation),
        column_(column),
        null_entries_(null_entries),
        memory_(std::make_shared<Memory>()) {
    data_.type = type;
    data_.length = static_cast<std::int64_t>(relation.rows.size());
  }

  Column store() {
    add_validity();
    if (data_.type.type == Type::string) {
      store_strings();
    } else if (data_.type.type == Type::boolean && random_.chance(50)) {
      store_bits();
    } else {
      store_fixed(width_in_bytes(data_.type.type), random_.chance(15),
                  [&](const Cell& cell) { return stored_bits(cell, data_.type); });
    }
    data_.owner = memory_;
    return Column(relation_.fields[column_].name, data_);
  }

 private:
  const Cell& cell(std::int64_t row) const { return relation_.rows[static_cast<std::size_t>(row)][column_]; }

  void add_validity() {
    bool any = random_.chance(20);
    for (std::int64_t row = 0; row < data_.length; ++row) any = any || is_null(cell(row));
    if (!any) return;
    data_.validity.offset = random_.chance(60) ? 0 : random_.below(11);
    memory_->validity.assign(static_cast<std::size_t>((data_.validity.offset + data_.length) / 8 + 1), 0);
    for (std::int64_t row = 0; row < data_.length; ++row) {
      if (!is_null(cell(row))) set_bit(memory_->validity.data(), data_.validity.offset + row);
    }
    data_.validity.bits = memory_->validity.data();
  }

  void store_bits() {
    data_.layout = Layout::bits;
    data_.bit_offset = random_.below(11);
    memory_->bytes.assign(static_cast<std::size_t>((data_.bit_offset + data_.length) / 8 + 1), std::byte{0});
    for (std::int64_t row = 0; row < data_.length; ++row) {
      const bool on = is_null(cell(row)) ? random_.chance(50) : std::get<bool>(cell(row));
      if (on) set_bit(reinterpret_cast<std::uint8_t*>(memory_->bytes.data()), data_.bit_offset + row);
    }
    data_.values = memory_->bytes.data();
  }

  template <class Bits>
  void store_fixed(int width, bool apart, const Bits& bits_of) {
    data_.stride = width + (apart ? random_.below(9) : 0);
    const std::int64_t first = apart && random_.chance(50) ? 1 : 0;
    memory_->bytes.resize(static_cast<std::size_t>(first + data_.length * data_.stride + 8));
    for (std::int64_t row = 0; row < data_.length; ++row) {
      const std::uint64_t bits = is_null(cell(row)) ? random_.bits() : bits_of(cell(row));
      std::memcpy(memory_->bytes.data() + first + row * data_.stride, &bits, static_cast<std::size_t>(width));
    }
    data_.values = memory_->bytes.data() + first;
  }

  void store_strings() {
    switch (random_.below(4)) {
      case 0: return store_views();
      case 1: return store_offsets();
      default: return store_dictionary();
    }
  }

  std::string text(std::int64_t row) const { return is_null(cell(row)) ? "" : std::get<std::string>(cell(row)); }

  void store_views() {
    data_.layout = Layout::views;
    for (std::int64_t row = 0; row < data_.length; ++row) memory_->texts.push_back(text(row));
    for (const std::string& known : memory_->texts) memory_->views.emplace_back(known);
    data_.values = memory_->views.data();
    data_.stride = sizeof(std::string_view);
  }

  void store_offsets() {
    const bool large = random_.chance(50);
    data_.layout = large ? Layout::large_utf8 : Layout::utf8;
    std::string all;
    for (std::int64_t row = 0; row <= data_.length; ++row) {
      memory_->offsets32.push_back(static_cast<std::int32_t>(all.size()));
      memory_->offsets64.push_back(static_cast<std::int64_t>(all.size()));
      if (row < data_.length) all += text(row);
    }
    memory_->bytes.resize(all.size() + 1);
    std::memcpy(memory_->bytes.data(), all.data(), all.size());
    data_.values = memory_->bytes.data();
    data_.offsets32 = large ? nullptr : memory_->offsets32.data();
    data_.offsets64 = large ? memory_->offsets64.data() : nullptr;
  }

  /// Indices into the words in another order, with words that no row has. Some dictionaries have entries that are
  /// NULL, and some rows that are NULL are so by such an entry.
  void store_dictionary() {
    std::vector<std::string> words = kWords;
    std::rotate(words.begin(), words.begin() + random_.below(9), words.end());
    const bool has_null_entry = random_.chance(40);
    if (has_null_entry) words.insert(words.begin() + random_.below(10), kNullEntry);
    const auto index_of = [&](const std::string& word) {
      return static_cast<std::uint64_t>(std::ranges::find(words, word) - words.begin());
    };
    data_.layout = Layout::dictionary;
    data_.index_type = random_.one_of<Type>({Type::int8, Type::int16, Type::int32, Type::uint8, Type::uint32});
    store_fixed(width_in_bytes(data_.index_type), false,
                [&](const Cell& word) { return index_of(std::get<std::string>(word)); });
    ColumnData entries = Column::own("words", words).data();
    if (has_null_entry) {
      make_null_entry(entries, index_of(kNullEntry), words.size());
      use_null_entry(index_of(kNullEntry));
    }
    data_.dictionary = std::make_shared<const ColumnData>(std::move(entries));
  }

  void make_null_entry(ColumnData& entries, std::uint64_t null_entry, std::size_t count) {
    memory_->entry_validity.assign(count / 8 + 1, 0xff);
    memory_->entry_validity[null_entry / 8] &= static_cast<std::uint8_t>(~(1U << (null_entry % 8)));
    entries.validity = {};
    entries.validity.bits = memory_->entry_validity.data();
    entries.owner =
        std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<Memory>>>(entries.owner, memory_);
  }

  void use_null_entry(std::uint64_t null_entry) {
    auto* const first = const_cast<std::byte*>(static_cast<const std::byte*>(data_.values));
    for (std::int64_t row = 0; row < data_.length; ++row) {
      if (!is_null(cell(row)) || random_.chance(50)) continue;
      std::memcpy(first + row * data_.stride, &null_entry, static_cast<std::size_t>(data_.stride));
      if (null_entries_ == NullEntries::unmarked) {
        set_bit(memory_->validity.data(), data_.validity.offset + row);
      }
    }
  }

  Random& random_;
  const Relation& relation_;
  std::size_t column_;
  NullEntries null_entries_;
  std::shared_ptr<Memory> memory_;
  ColumnData data_;
};

std::int64_t number_of_rows(Random& random, std::int64_t max_rows) {
  const int kind = static_cast<int>(random.below(100));
  const std::int64_t n = kind < 6    ? random.below(3)
                         : kind < 60 ? random.below(40)
                         : kind < 85 ? random.below(150)
                         : kind < 97 ? random.below(600)
                                     : random.below(2000);
  return std::min(n, max_rows);
}

}  // namespace

namespace {

Input input_of(Random& random, std::int64_t rows, const std::vector<DataType>& types) {
  Input input;
  input.relation.rows.resize(static_cast<std::size_t>(rows));
  for (const DataType type : types) {
    const std::size_t index = input.types.size();
    const std::string name = index == 4 ? "two words" : "c" + std::to_string(index);
    const Pattern pattern = random.one_of(kPatterns);
    const int null_percent = pattern == Pattern::nulls ? 100 : random.one_of<int>({0, 0, 0, 5, 20, 60});
    input.relation.fields.push_back({name, domain_of(type)});
    input.types.push_back(type);
    for (std::int64_t row = 0; row < rows; ++row) {
      Cell value = random_cell(random, type, pattern, row);
      if (random.chance(null_percent)) value = {};
      input.relation.rows[static_cast<std::size_t>(row)].push_back(std::move(value));
    }
  }
  return input;
}

std::vector<DataType> with_more(std::vector<DataType> types, Random& random, const std::vector<DataType>& from) {
  for (std::int64_t i = 2 + random.below(6); i > 0; --i) types.push_back(random.one_of(from));
  return types;
}

bool is_empty_text(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr && text->empty();
}

/// A float as text that no integer is spelled as.
std::string spelled_in_csv(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string spelling(text.data(), end);
  return spelling.find_first_of(".e") == std::string::npos ? spelling + ".0" : spelling;
}

std::string spelled_in_csv(const Cell& cell, const Field& field) {
  if (const auto* number = std::get_if<double>(&cell)) return spelled_in_csv(*number);
  if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "true" : "false";
  if (const auto* integer = std::get_if<Integer>(&cell)) return spelled(*integer);
  if (const auto* day = std::get_if<Day>(&cell)) return spelled_date(day->number);
  if (const auto* moment = std::get_if<Moment>(&cell)) return spelled_moment(moment->ns, field.domain.ns_per_tick);
  return std::get<std::string>(cell);
}

}  // namespace

Input random_input(Random& random, std::int64_t max_rows) {
  const auto types = with_more({Type::string, Type::float64, Type::int32}, random, all_types());
  return input_of(random, number_of_rows(random, max_rows), types);
}

Input random_input_like(const Input& other, Random& random, std::int64_t rows) {
  return input_of(random, rows, other.types);
}

Input random_text_input(Random& random, std::int64_t max_rows) {
  const std::vector<DataType> inferred = {Type::boolean, Type::int64,  Type::float64,
                                          Type::date,    Type::string, DataType(Type::timestamp, TimeUnit::second)};
  const auto types = with_more({Type::string, Type::float64, Type::int64}, random, inferred);
  Input input = input_of(random, 1 + number_of_rows(random, max_rows), types);
  // The first row tells the type of each column.
  Row& first = input.relation.rows.front();
  for (std::size_t c = 0; c < types.size(); ++c) {
    if (types[c].type == Type::string) first[c] = "a";
    while (is_null(first[c])) first[c] = random_cell(random, types[c], Pattern::few, 0);
  }
  return input;
}

std::string csv_of(const Relation& relation, Random& random) {
  std::string text;
  for (const Field& field : relation.fields) text += (text.empty() ? "" : ",") + field.name;
  for (const Row& row : relation.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      text += c > 0 ? "," : "\n";
      if (is_null(row[c])) {
        text += random.one_of<std::string>({"", "", "NULL", "NA"});
        continue;
      }
      const std::string value = spelled_in_csv(row[c], relation.fields[c]);
      const bool quoted = is_empty_text(row[c]) || random.chance(10);
      text += quoted ? '"' + value + '"' : value;
    }
  }
  return text + "\n";
}

Table stored(const Input& input, Random& random, NullEntries null_entries) {
  std::vector<Column> columns;
  for (std::size_t c = 0; c < input.types.size(); ++c) {
    columns.push_back(Storage(random, input.relation, c, input.types[c], null_entries).store());
  }
  return Table(std::move(columns));
}

}  // namespace skyrank::differential
