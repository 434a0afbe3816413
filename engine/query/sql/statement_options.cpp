#include <algorithm>
#include <charconv>

#include "engine/duration.hpp"
#include "engine/query/check.hpp"
#include "engine/query/functions.hpp"
#include "engine/query/sql/statement.hpp"
#include "engine/text.hpp"

// The part of SqlBuilder that sets options, which are the keys of a YAML query that no clause has a word for.
namespace skyrank::query {
namespace {

const std::vector<std::string> kOptions = {"name",   "ties",      "nan",     "nulls",     "timeout",
                                           "device", "algorithm", "without", "parameters"};

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// The choice that a word names; nothing, and the words in `names`, where it names none.
template <class Enum>
std::optional<Enum> choice(const std::string& word, std::initializer_list<std::pair<const char*, Enum>> choices,
                           std::vector<std::string>& names) {
  for (const auto& [name, value] : choices) {
    if (equal_ignoring_case(word, name)) return value;
    names.emplace_back(name);
  }
  return std::nullopt;
}

}  // namespace

const SqlBuilder::Text& SqlBuilder::option_text(const char* example) const {
  if (option_texts_.size() == 2) return option_texts_[1];
  fail(option_texts_[0].offset, in_quotes(option_texts_[0].text) + " takes one value, such as " + example);
}

void SqlBuilder::end_option() {
  const std::string key = lower(option_texts_[0].text);
  const std::size_t offset = option_texts_[0].offset;
  if (std::find(kOptions.begin(), kOptions.end(), key) == kOptions.end()) {
    fail(offset, "there is no option " + in_quotes(option_texts_[0].text) + did_you_mean(key, kOptions) +
                     " (options are " + listed(kOptions) + ")");
  }
  if (std::find(options_seen_.begin(), options_seen_.end(), key) != options_seen_.end()) {
    fail(offset, "the option " + in_quotes(key) + " comes twice");
  }
  options_seen_.push_back(key);
  std::vector<std::string> names;
  const auto set = [&](const auto& value, const auto& use, const char* example) {
    if (value) return use(*value);
    fail(option_text(example).offset, in_quotes(key) + " is one of " + listed(names) + ", found " +
                                          in_quotes(option_text(example).text) +
                                          did_you_mean(option_text(example).text, names));
  };
  const auto nan = [&] {
    return choice<Missing>(option_text("exclude").text,
                           {{"worst", Missing::worst}, {"exclude", Missing::exclude}, {"error", Missing::error}},
                           names);
  };
  const auto nulls = [&]() -> std::optional<Missing> {
    if (const auto rule = nan()) return rule;
    return choice<Missing>(option_text("exclude").text, {{"best", Missing::best}}, names);
  };
  if (key == "name") {
    at(option_text("'good-deals'").offset, [&] { check_query_name(option_texts_[1].text); });
    query_.name(option_texts_[1].text);
  } else if (key == "ties") {
    const auto ties =
        choice<Ties>(option_text("last").text,
                     {{"first", Ties::first}, {"last", Ties::last}, {"all", Ties::all}, {"any", Ties::any}}, names);
    set(
        ties, [&](Ties rule) { query_.ties(rule); }, "last");
  } else if (key == "nan") {
    set(
        nan(), [&](Missing rule) { query_.nan(rule); }, "exclude");
  } else if (key == "nulls") {
    set(
        nulls(), [&](Missing rule) { query_.nulls(rule); }, "exclude");
  } else if (key == "timeout") {
    const auto limit = parse_duration(option_text("'30s'").text);
    if (!limit) fail(option_texts_[1].offset, std::string("'timeout' needs ") + kDurationExample + ", in quotes");
    query_.timeout(*limit);
  } else {
    set_using();
  }
}

void SqlBuilder::set_using() {
  const std::string key = lower(option_texts_[0].text);
  if (key == "device") {
    std::vector<std::string> names;
    const Text& word = option_text("cpu");
    const auto device = choice<DeviceChoice>(
        word.text, {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}},
        names);
    if (!device) fail(word.offset, "'device' is one of " + listed(names) + ", found " + in_quotes(word.text));
    using_.device = *device;
    return;
  }
  for (std::size_t i = 1; i < option_texts_.size(); ++i) {
    const Text& name = option_texts_[i];
    using_.locations.try_emplace(name.text, place_(name.offset));
    if (key == "algorithm") using_.algorithms.push_back(name.text);
    if (key == "without") using_.without.push_back(name.text);
    if (key != "parameters") continue;
    const std::string number = ++i < option_texts_.size() ? option_texts_[i].text : "";
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (number.empty() || error != std::errc() || end != number.data() + number.size()) {
      fail(name.offset,
           "the parameter " + in_quotes(name.text) + " needs a whole number: parameters = (" + name.text + " = 64)");
    }
    using_.parameters[name.text] = value;
  }
}

}  // namespace skyrank::query
