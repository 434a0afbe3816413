#include "kernels/common/algorithm.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kernels/common/nearest_name.hpp"

namespace skyrank::kernels {

std::int64_t ParameterValues::operator[](std::string_view name) const {
  if (const auto given = values_.find(name); given != values_.end()) return given->second;
  const auto parameter = std::ranges::find(declared_, name, &Parameter::name);
  if (parameter == declared_.end()) throw std::out_of_range("undeclared parameter " + std::string(name));
  return parameter->default_value;
}

std::string check_parameters(std::span<const Parameter> declared,
                             const std::map<std::string, std::int64_t, std::less<>>& values) {
  for (const auto& [name, value] : values) {
    const auto parameter = std::ranges::find(declared, name, &Parameter::name);
    if (parameter == declared.end()) {
      std::vector<std::string> names;
      for (const Parameter& known : declared) names.emplace_back(known.name);
      return "there is no parameter '" + name + "'" + did_you_mean(name, names);
    }
    if (value < parameter->min || value > parameter->max) {
      return "parameter '" + name + "' is " + std::to_string(value) + ", but must be from " +
             std::to_string(parameter->min) + " to " + std::to_string(parameter->max);
    }
  }
  return {};
}

}  // namespace skyrank::kernels
