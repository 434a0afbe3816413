#include <skyrank/error.hpp>

namespace skyrank {
inline namespace v0 {

std::string to_string(const Location& location) {
  std::string text = location.source;
  const auto append = [&text](std::int64_t number) {
    if (!text.empty()) text += ':';
    text += std::to_string(number);
  };
  if (location.line > 0) {
    append(location.line);
    if (location.column > 0) append(location.column);
  }
  return text;
}

namespace {

std::string placed(const Location& location, const std::string& message) {
  const std::string place = to_string(location);
  return place.empty() ? message : place + ": " + message;
}

}  // namespace

Error::Error(const std::string& message, Location location)
    : std::runtime_error(placed(location, message)), location_(std::move(location)), message_(message) {}

}  // namespace v0
}  // namespace skyrank
