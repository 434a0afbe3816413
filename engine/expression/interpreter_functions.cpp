#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/expression/boxes.hpp"
#include "engine/expression/interpreter.hpp"
#include "engine/expression/numeric.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

// Functions of times and texts, and boxes of values.
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
  texts_.emplace_back(std::max<std::size_t>(bytes, 1));
  char* next = texts_.back().get();
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

}  // namespace skyrank::exec
