#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/expression/boxes.hpp"
#include "engine/expression/interpreter.hpp"
#include "engine/expression/numeric.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

// Functions of times and texts, boxes of values, and casts.
namespace skyrank::exec {

using query::Op;

namespace {

std::int64_t part_of(Op part, Moment moment) {
  constexpr std::int64_t kSecondsPerHour = 3600;
  constexpr std::int64_t kSecondsPerMinute = 60;
  switch (part) {
    case Op::year: return civil_from_days(moment.days).year;
    case Op::month: return civil_from_days(moment.days).month;
    case Op::day: return civil_from_days(moment.days).day;
    case Op::hour: return moment.second_of_day / kSecondsPerHour;
    case Op::minute: return moment.second_of_day % kSecondsPerHour / kSecondsPerMinute;
    case Op::second: return moment.second_of_day % kSecondsPerMinute;
    default: return weekday(moment.days);
  }
}

/// The place of the character after that at `place`.
std::size_t after_character(std::string_view text, std::size_t place) {
  ++place;
  while (place < text.size() && query::continues_character(text[place])) ++place;
  return place;
}

/// Returns true if a text matches a pattern of SQL's LIKE: `%` stands for any characters, `_` for one character (a code
/// point of UTF-8), and a backslash makes the character after it stand for itself. Case matters.
bool is_like(std::string_view text, std::string_view pattern) {
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t after_percent = kNone;  // where the pattern goes on after the last `%`
  std::size_t retry = 0;              // the first character of the text that this `%` does not stand for
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      after_percent = ++p;
      retry = t;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '_') {
      t = after_character(text, t);
      ++p;
      continue;
    }
    const std::size_t literal = p + 1 < pattern.size() && pattern[p] == '\\' ? p + 1 : p;
    if (literal < pattern.size() && pattern[literal] == text[t]) {
      ++t;
      p = literal + 1;
      continue;
    }
    if (after_percent == kNone) return false;
    retry = after_character(text, retry);
    t = retry;
    p = after_percent;
  }
  return pattern.find_first_not_of('%', p) == kNone;
}

/// The number of characters (code points) of a text in UTF-8.
std::int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(text, std::not_fn(query::continues_character));
}

bool is_present(const Vec& vec, std::int64_t i) { return vec.valid == nullptr || vec.valid[i] != 0; }

// Casts: values in another type. Nothing is rounded but what floats round, and the fractions of numbers that become
// integers, which are cut off; a value that the type does not hold fails.

template <class T>
constexpr bool kWhole =
    std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t> || std::is_same_v<T, Int128>;

/// A value of a block as a Value.
template <class T>
Value whole_value(T value, DataType type) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return value != 0;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return std::string(value);
  } else if constexpr (std::is_same_v<T, Int128>) {
    return Decimal{value, type.scale};
  } else {
    if (type.type == Type::decimal64) return Decimal{static_cast<Int128>(value), type.scale};
    if (type.type == Type::date) return Date{static_cast<std::int32_t>(value)};
    if (type.type == Type::timestamp) return Timestamp{static_cast<std::int64_t>(value), type.unit};
    return value;
  }
}

/// Stores a whole number; returns false where the type does not hold it.
template <class To>
bool store_whole(Int128 value, DataType type, To& out) {
  out = static_cast<To>(value);
  if (is_decimal(type.type)) {
    const Int128 limit = power_of_ten(type.precision - 1);
    return value / 10 > -limit && value / 10 < limit;
  }
  if (type.type == Type::date && static_cast<std::int32_t>(value) != value) return false;
  return static_cast<Int128>(out) == value;
}

std::optional<double> parse_float(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && query::is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && query::is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns false for texts that say no value of the type.
template <class To>
bool parse(std::string_view written, DataType type, To& out) {
  const std::string_view text = without_blanks(written);
  if constexpr (std::is_same_v<To, double>) {
    const std::optional<double> value = parse_float(text);
    out = value.value_or(0);
    return value.has_value();
  } else if constexpr (std::is_same_v<To, std::uint8_t>) {
    out = query::equal_ignoring_case(text, "true") ? 1 : 0;
    return out != 0 || query::equal_ignoring_case(text, "false");
  } else {
    if (type.type == Type::date) {
      const std::optional<Date> date = parse_date(text);
      return date && store_whole(date->days, type, out);
    }
    if (type.type == Type::timestamp) {
      const std::optional<Timestamp> time = parse_timestamp(text);
      const std::optional<Value> exact = time ? convert_exactly(*time, type) : std::nullopt;
      return exact && store_whole(std::get<Timestamp>(*exact).ticks, type, out);
    }
    const std::optional<Decimal> decimal = parse_decimal(text);
    const std::optional<Int128> whole =
        decimal ? rescaled(*decimal, is_decimal(type.type) ? type.scale : 0) : std::nullopt;
    return whole && store_whole(*whole, type, out);
  }
}

/// Stores a number, a truth or a time in another type; returns false where the type does not hold it.
template <class To, class From>
bool cast_value(From value, DataType from, DataType to, To& out) {
  if constexpr (std::is_same_v<From, std::string_view>) {
    return parse(value, to, out);
  } else if constexpr (std::is_same_v<To, std::uint8_t>) {
    out = value != From{} ? 1 : 0;
  } else if constexpr (std::is_same_v<To, double>) {
    if constexpr (kWhole<From>) {
      out = is_decimal(from.type) ? to_double({static_cast<Int128>(value), from.scale}) : static_cast<double>(value);
    } else {
      out = static_cast<double>(value);
    }
  } else if constexpr (std::is_same_v<From, double>) {
    constexpr bool kSigned = std::is_same_v<To, std::int64_t>;
    const double cut = std::trunc(value);
    const bool fits = cut >= (kSigned ? -kTwoTo63 : 0.0) && cut < (kSigned ? kTwoTo63 : kTwoTo64);  // NaN does not
    out = fits ? static_cast<To>(cut) : To{};
    return fits;
  } else {
    if (from.type == Type::timestamp && to.type == Type::date) {
      return store_whole(moment_of({static_cast<std::int64_t>(value), from.unit}).days, to, out);
    }
    if (from.type == Type::date && to.type == Type::timestamp) {
      return store_whole(static_cast<Int128>(value) * kSecondsPerDay * ticks_per_second(to.unit), to, out);
    }
    Int128 whole = static_cast<Int128>(value);
    if (is_decimal(to.type)) {
      const std::optional<Int128> scaled = rescaled({whole, is_decimal(from.type) ? from.scale : 0}, to.scale);
      return scaled && store_whole(*scaled, to, out);
    }
    if (is_decimal(from.type)) whole /= power_of_ten(from.scale);
    return store_whole(whole, to, out);
  }
  return true;
}

}  // namespace

Vec Interpreter::bucket(const Operation& operation, std::span<Vec> operands) {
  Vec in = spread(std::move(operands[0]), size_);
  const Int128 size = *operands[1].as<Int128>();
  const auto digits = static_cast<int>(*operands[2].as<std::int64_t>());
  Vec out = fresh(operation.type);
  with_evaluation_type(operation.type.type, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t> || std::is_same_v<T, Int128>) {
      const T* values = in.as<T>();
      T* boxes = out.values.as<T>();
      for (std::int64_t i = 0; i < size_; ++i) boxes[i] = static_cast<T>(box_of(values[i], size, digits));
    }
  });
  take_validity(out, in);
  return out;
}

Vec Interpreter::log_bucket(std::span<Vec> operands, Active active) {
  Vec in = spread(std::move(operands[0]), size_);
  if (in.type.type != Type::float64) in = convert(std::move(in), Type::float64, active);
  const RatioBoxes boxes({*operands[1].as<Int128>(), operands[1].type.scale});
  Vec out = fresh(Type::float64);
  for (std::int64_t i = 0; i < size_; ++i) out.values.as<double>()[i] = boxes.box_of(in.as<double>()[i]);
  take_validity(out, in);
  return out;
}

Vec Interpreter::date_part(const Operation& operation, Vec in) {
  in = spread(std::move(in), size_);
  Vec out = fresh(Type::int64);
  const auto* ticks = in.as<std::int64_t>();
  auto* values = out.values.as<std::int64_t>();
  for (std::int64_t i = 0; i < size_; ++i) {
    const bool is_date = in.type.type == Type::date;
    values[i] = part_of(operation.op, is_date ? Moment{.days = ticks[i]} : moment_of({ticks[i], in.type.unit}));
  }
  take_validity(out, in);
  return out;
}

Vec Interpreter::text_length(Vec in) {
  in = spread(std::move(in), size_);
  Vec out = fresh(Type::int64);
  const auto* texts = in.as<std::string_view>();
  auto* values = out.values.as<std::int64_t>();
  for (std::int64_t i = 0; i < size_; ++i) values[i] = is_present(in, i) ? count_characters(texts[i]) : 0;
  take_validity(out, in);
  return out;
}

Vec Interpreter::change_case(const Operation& operation, Vec in) {
  in = spread(std::move(in), size_);
  const auto* texts = in.as<std::string_view>();
  std::size_t bytes = 0;
  for (std::int64_t i = 0; i < size_; ++i) bytes += is_present(in, i) ? texts[i].size() : 0;
  char* next = take_text(bytes);
  Vec out = fresh(Type::string);
  auto* values = out.values.as<std::string_view>();
  for (std::int64_t i = 0; i < size_; ++i) {
    values[i] = {};
    if (!is_present(in, i)) continue;
    values[i] = std::string_view(next, texts[i].size());
    next = std::transform(texts[i].begin(), texts[i].end(), next,
                          operation.op == Op::lower ? query::to_lower : query::to_upper);
  }
  take_validity(out, in);
  return out;
}

char* Interpreter::take_text(std::size_t bytes) {
  texts_.emplace_back(std::max<std::size_t>(bytes, 1));
  return texts_.back().get();
}

Vec Interpreter::concat(std::span<Vec> operands) {
  const Vec& a = operands[0] = spread(std::move(operands[0]), size_);
  const Vec& b = operands[1] = spread(std::move(operands[1]), size_);
  Vec out = fresh(Type::string);
  intersect_validity(size_, out, operands[0], operands[1]);
  const auto* first = a.as<std::string_view>();
  const auto* second = b.as<std::string_view>();
  std::size_t bytes = 0;
  for (std::int64_t i = 0; i < size_; ++i) bytes += is_present(out, i) ? first[i].size() + second[i].size() : 0;
  char* next = take_text(bytes);
  auto* values = out.values.as<std::string_view>();
  for (std::int64_t i = 0; i < size_; ++i) {
    values[i] = {};
    if (!is_present(out, i)) continue;
    values[i] = std::string_view(next, first[i].size() + second[i].size());
    next = std::ranges::copy(first[i], next).out;
    next = std::ranges::copy(second[i], next).out;
  }
  return out;
}

Vec Interpreter::like(const Operation& operation, std::span<Vec> operands) {
  Vec& texts = operands[0] = spread(std::move(operands[0]), size_);
  Vec& patterns = operands[1] = spread(std::move(operands[1]), size_);
  Vec out = fresh(Type::boolean);
  auto* values = out.values.as<std::uint8_t>();
  for (std::int64_t i = 0; i < size_; ++i) {
    const bool present = is_present(texts, i) && is_present(patterns, i);
    values[i] = present && is_like(texts.as<std::string_view>()[i], patterns.as<std::string_view>()[i]) ? 1 : 0;
  }
  if (operation.negated) negate_truth(out);
  intersect_validity(size_, out, texts, patterns);
  return out;
}

Vec Interpreter::cast(const Operation& operation, Vec in, Active active) {
  const DataType from = in.type;
  const DataType to = operation.type;
  in = spread(std::move(in), size_);
  const std::uint8_t* const valid = in.valid;
  const auto is_there = [valid](std::int64_t i) { return valid == nullptr || valid[i] != 0; };
  Vec out = fresh(to);
  with_evaluation_type(from.type, [&]<class From>(From) {
    const From* values = in.as<From>();
    with_evaluation_type(to.type, [&]<class To>(To) {
      To* results = out.values.as<To>();
      if constexpr (std::is_same_v<To, std::string_view>) {
        if constexpr (std::is_same_v<From, std::string_view>) {
          std::copy_n(values, size_, results);
        } else {
          std::string texts;
          for (std::int64_t i = 0; i < size_; ++i) {
            const std::size_t begin = texts.size();
            if (is_there(i)) texts += to_string(whole_value(values[i], from));
            results[i] = {nullptr, texts.size() - begin};
          }
          const char* next = std::copy(texts.begin(), texts.end(), take_text(texts.size())) - texts.size();
          for (std::int64_t i = 0; i < size_; ++i) {
            results[i] = {next, results[i].size()};
            next += results[i].size();
          }
        }
      } else {
        bool fits = true;
        for (std::int64_t i = 0; i < size_; ++i) {
          results[i] = To{};
          fits &= !is_there(i) || cast_value(values[i], from, to, results[i]);
        }
        if (fits) return;
        record_failure(
            valid, active,
            [&](std::int64_t i) {
              To ignored{};
              return !cast_value(values[i], from, to, ignored);
            },
            [&](std::int64_t i) {
              const std::string text = to_string(whole_value(values[i], from));
              return "no cast: " + (from.type == Type::string ? query::in_quotes(text) : text) + " is no " +
                     to_string(to) + "; guard it with 'case when'";
            });
      }
    });
  });
  take_validity(out, in);
  return out;
}

}  // namespace skyrank::exec
