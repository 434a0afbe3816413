#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace skyrank::kernels {

/// An integer parameter of an algorithm, within [min, max].
struct Parameter {
  std::string_view name;
  std::string_view description;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t default_value = 0;
};

/// Values for the parameters of one algorithm by name; what is absent has its default.
class ParameterValues {
 public:
  ParameterValues() = default;
  /// `values` were checked by `check_parameters`.
  ParameterValues(std::span<const Parameter> declared, std::map<std::string, std::int64_t, std::less<>> values)
      : declared_(declared), values_(std::move(values)) {}

  std::int64_t operator[](std::string_view name) const;

 private:
  std::span<const Parameter> declared_;
  std::map<std::string, std::int64_t, std::less<>> values_;
};

/// Empty when `values` fit the declared parameters of an algorithm, else what is wrong with the first that does not.
std::string check_parameters(std::span<const Parameter> declared,
                             const std::map<std::string, std::int64_t, std::less<>>& values);

}  // namespace skyrank::kernels
