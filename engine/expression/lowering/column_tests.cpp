#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/expression/lowering/passes.hpp"
#include "kernels/common/value_range.hpp"

// Fuses a load and a comparison with constants into one step: the constants become bounds in the column's own type.
namespace skyrank::exec::lowering {

using kernels::narrowed;
using kernels::ValueRange;
using kernels::with_bits_of;

namespace {

/// The value below all others of its type, and the one above them.
template <class T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                            : std::numeric_limits<T>::max();

/// The numbers below a constant; none where that is NaN.
template <class T>
ValueRange<T> below(T constant) {
  if (!(constant > kLowest<T>)) return {T(1), T(0)};
  if constexpr (std::is_floating_point_v<T>) return {kLowest<T>, std::nextafter(constant, kLowest<T>)};
  return {kLowest<T>, static_cast<T>(constant - 1)};
}

/// The numbers above a constant; none where that is NaN.
template <class T>
ValueRange<T> above(T constant) {
  if (!(constant < kHighest<T>)) return {T(1), T(0)};
  if constexpr (std::is_floating_point_v<T>) return {std::nextafter(constant, kHighest<T>), kHighest<T>};
  return {static_cast<T>(constant + 1), kHighest<T>};
}

/// The numbers of which a comparison with constants is true, or for `not_equal` false.
template <class T>
ValueRange<T> bounds_of(const Step& step) {
  const T constant = with_bits_of<T>(step.bits);
  switch (step.act) {
    case Act::less: return below(constant);
    case Act::less_equal: return {kLowest<T>, constant};
    case Act::more: return above(constant);
    case Act::more_equal: return {constant, kHighest<T>};
    case Act::between: return {constant, with_bits_of<T>(step.upper)};
    default: return {constant, constant};
  }
}

template <class T>
void set_bounds(Step& step, const ValueRange<T>& bounds) {
  step.bits = 0;
  step.upper = 0;
  std::memcpy(&step.bits, &bounds.lowest, sizeof(T));
  std::memcpy(&step.upper, &bounds.highest, sizeof(T));
}

}  // namespace

std::optional<Step> make_column_test(const Step& load, const Step& comparison) {
  const Act act = comparison.act;
  if (act < Act::equal || act > Act::between || comparison.from != From::constant || load.act != Act::load) return {};
  const bool flag = (comparison.marks & Step::kFlag) != 0;
  if (flag && act != Act::between) return {};  // the constant is NULL
  const bool integers = (comparison.marks & Step::kIntegers) != 0;
  Step test = load;
  test.act = Act::test;
  test.marks = Step::marked(integers, flag || act == Act::not_equal);
  if (load.from == From::float32 && !integers) {
    set_bounds(test, narrowed<float>(bounds_of<double>(comparison)));
  } else if (load.from == From::int32 && integers) {
    set_bounds(test, narrowed<std::int32_t>(bounds_of<std::int64_t>(comparison)));
  } else if (load.from == From::wide) {
    if (integers) {
      set_bounds(test, bounds_of<std::int64_t>(comparison));
    } else {
      set_bounds(test, bounds_of<double>(comparison));
    }
  } else {
    return {};
  }
  return test;
}

}  // namespace skyrank::exec::lowering
