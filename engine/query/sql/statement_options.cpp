#include <algorithm>
#include <charconv>

#include "engine/query/check.hpp"
#include "engine/query/duration.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/sql/statement.hpp"
#include "engine/text.hpp"

// The part of SqlBuilder that sets options, which are the keys of a YAML query that no clause has a word for.
namespace skyrank::query {
namespace {

// NOLINTNEXTLINE(bugprone-throwing-static-initialization): a process that has no memory for them cannot begin
const std::vector<std::string> kOptions = {"name",   "ties",      "nan",     "nulls",     "timeout",
                                           "device", "algorithm", "without", "parameters"};

// The value that a word of a statement names.
template <class Enum>
std::optional<Enum> choice(const std::string& word) {
  return find_by_word<Enum>([&](std::string_view known) { return equal_ignoring_case(word, known); });
}

}  // namespace

const SqlBuilder::Text& SqlBuilder::option_text(std::string_view example) const {
  if (option_texts_.size() == 2) return option_texts_[1];
  fail(option_texts_[0].offset, in_quotes(option_texts_[0].text) + " takes one value, such as " + std::string(example));
}

void SqlBuilder::end_option() {
  const std::string key = in_small_letters(option_texts_[0].text);
  const std::size_t offset = option_texts_[0].offset;
  if (std::find(kOptions.begin(), kOptions.end(), key) == kOptions.end()) {
    fail(offset, "there is no option " + in_quotes(option_texts_[0].text) + did_you_mean(key, kOptions) +
                     " (options are " + listed(kOptions) + ")");
  }
  if (std::find(options_seen_.begin(), options_seen_.end(), key) != options_seen_.end()) {
    fail(offset, "the option " + in_quotes(key) + " comes twice");
  }
  options_seen_.push_back(key);
  const auto read = [&]<class Enum>(Enum example) {
    const Text& text = option_text(word_for(example));
    if (const auto value = choice<Enum>(text.text)) return *value;
    const std::vector<std::string> words = all_words<Enum>();
    fail(text.offset, in_quotes(key) + " is one of " + listed(words) + ", found " + in_quotes(text.text) +
                          did_you_mean(text.text, words));
  };
  if (key == "name") {
    at(option_text("'good-deals'").offset, [&] { check_query_name(option_texts_[1].text); });
    query_.name(option_texts_[1].text);
  } else if (key == "ties") {
    query_.ties(read(Ties::last));
  } else if (key == "nan") {
    query_.nan(read(Missing::exclude));
  } else if (key == "nulls") {
    query_.nulls(read(Missing::exclude));
  } else if (key == "timeout") {
    const auto limit = parse_duration(option_text("'30s'").text);
    if (!limit) fail(option_texts_[1].offset, std::string("'timeout' needs ") + kDurationExample + ", in quotes");
    query_.timeout(limit);
  } else {
    set_using();
  }
}

void SqlBuilder::set_using() {
  const std::string key = in_small_letters(option_texts_[0].text);
  if (key == "device") {
    const Text& word = option_text("cpu");
    const auto device = choice<DeviceChoice>(word.text);
    if (!device) {
      fail(word.offset, "'device' is one of " + listed(all_words<DeviceChoice>()) + ", found " + in_quotes(word.text));
    }
    path_.path.device = *device;
    return;
  }
  for (std::size_t i = 1; i < option_texts_.size(); ++i) {
    const Text& name = option_texts_[i];
    path_.locations.try_emplace(name.text, place_(name.offset));
    if (key == "algorithm") path_.path.algorithms.push_back(name.text);
    if (key == "without") path_.path.without.push_back(name.text);
    if (key != "parameters") continue;
    const std::string number = ++i < option_texts_.size() ? option_texts_[i].text : "";
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (number.empty() || error != std::errc() || end != number.data() + number.size()) {
      fail(name.offset,
           "the parameter " + in_quotes(name.text) + " needs a whole number: parameters = (" + name.text + " = 64)");
    }
    path_.path.parameters[name.text] = value;
  }
}

}  // namespace skyrank::query
