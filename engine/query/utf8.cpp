#include "engine/query/utf8.hpp"

#include <tao/pegtl.hpp>

namespace skyrank::query {

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  namespace peg = tao::pegtl;
  peg::memory_input<peg::tracking_mode::lazy> input(text.data(), text.size(), "");
  peg::parse<peg::star<peg::utf8::any>>(input);
  if (input.empty()) return std::nullopt;
  return static_cast<std::size_t>(input.current() - text.data());
}

}  // namespace skyrank::query
