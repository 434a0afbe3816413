#include <algorithm>
#include <cstddef>
#include <string_view>

#include "engine/expression/interpreter.hpp"
#include "engine/expression/like.hpp"
#include "engine/expression/numeric.hpp"
#include "engine/time.hpp"

// Functions of times and texts.
namespace skyrank::exec {

using query::Op;

namespace {

/// A point in time: days since 1970 and the second of the day.
struct Moment {
  std::int64_t days = 0;
  std::int64_t second_of_day = 0;
};

Moment moment_of(std::int64_t ticks, DataType type) {
  if (type.type == Type::date) return {ticks, 0};
  const std::int64_t ticks_a_second = ticks_per_second(type.unit);
  const std::int64_t seconds = ticks / ticks_a_second - (ticks % ticks_a_second < 0 ? 1 : 0);
  // The first second of the first day of all may be no 64-bit integer, so nothing is multiplied back.
  const std::int64_t rest = seconds % kSecondsPerDay;
  if (rest < 0) return {seconds / kSecondsPerDay - 1, rest + kSecondsPerDay};
  return {seconds / kSecondsPerDay, rest};
}

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

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper_case(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool is_present(const Vec& vec, std::int64_t i) { return vec.valid == nullptr || vec.valid[i] != 0; }

}  // namespace

Vec Interpreter::date_part(const Operation& operation, Vec in) {
  in = spread(std::move(in), size_);
  Vec out = fresh(Type::int64);
  const auto* ticks = in.as<std::int64_t>();
  auto* values = out.values.as<std::int64_t>();
  for (std::int64_t i = 0; i < size_; ++i) values[i] = part_of(operation.op, moment_of(ticks[i], in.type));
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
    next = std::transform(texts[i].begin(), texts[i].end(), next, operation.op == Op::lower ? lower_case : upper_case);
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
