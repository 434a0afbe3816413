#include "engine/query/yaml/tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include "engine/query/ast.hpp"
#include "engine/query/utf8.hpp"
#include "engine/query/written_names.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr const char* kNoAnchors =
    "anchors (&) and aliases (*) are not supported; text that begins with one of them needs quotes";
constexpr const char* kNoTags = "tags (!) are not supported; text that begins with '!' needs quotes";

// The document without a byte order mark; what a YAML reader must not see is refused before it does.
std::string checked_text(std::string_view yaml, const std::string& source, const BatchLimits& limits) {
  if (yaml.starts_with(kByteOrderMark)) yaml.remove_prefix(kByteOrderMark.size());
  if (yaml.size() > limits.max_bytes) {
    throw QueryError("the text is longer than " + std::to_string(limits.max_bytes) + " bytes", {source, 1, 1});
  }
  const auto fail = [&](std::size_t offset, const std::string& message) {
    throw QueryError(message, Places(yaml, {source, 1, 1}).at(offset));
  };
  const auto control = std::find_if(yaml.begin(), yaml.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && !is_blank(c)) || c == 0x7F;
  });
  if (control != yaml.end()) {
    fail(static_cast<std::size_t>(control - yaml.begin()),
         "control character " + std::to_string(static_cast<int>(*control)) + " is not allowed; is this a text file?");
  }
  if (const auto invalid = find_invalid_utf8(yaml)) fail(*invalid, "the text is not valid UTF-8");
  return std::string(yaml);
}

// The plain word that stands for NULL at `offset`; empty where the value was left out.
std::string null_spelling(std::string_view text, std::size_t offset) {
  constexpr std::array<std::string_view, 4> kSpellings = {"~", "null", "Null", "NULL"};
  for (const std::string_view spelling : kSpellings) {
    if (text.substr(std::min(offset, text.size())).starts_with(spelling)) return std::string(spelling);
  }
  return {};
}

class YamlTreeBuilder : public YAML::EventHandler {
 public:
  YamlTreeBuilder(std::string_view text, const Places& places, const BatchLimits& limits)
      : text_(text), places_(places), limits_(limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(mark, "a batch is one YAML document; this is the second");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node = begin(mark, "", anchor);
    node.text = null_spelling(text_, node.offset);
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchors(mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchors(mark); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.size() > limits_.max_scalar_bytes) {
      fail(mark, "a value is longer than " + std::to_string(limits_.max_scalar_bytes) + " bytes");
    }
    YamlNode node = begin(mark, tag, anchor);
    node.kind = YamlNode::Kind::scalar;
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark, tag, anchor, style, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark, tag, anchor, style, YamlNode::Kind::map);
  }
  void OnMapEnd() override {
    pair_up(open_.back());
    close();
  }

  YamlNode root() && { return std::move(root_); }

 private:
  // A map's keys and values arrive as one list in `node.items`.
  struct Open {
    YamlNode node;
    bool flow;
  };

  [[noreturn]] void fail(std::size_t offset, const std::string& message) const {
    throw QueryError(message, places_.at(offset));
  }
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const { fail(offset_of(mark), message); }

  [[noreturn]] void refuse_anchors(const YAML::Mark& mark) const { fail(mark, kNoAnchors); }

  static std::size_t offset_of(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.pos, 0)); }

  YamlNode begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) refuse_anchors(mark);
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(mark, kNoTags);
    }
    if (++nodes_ > limits_.max_nodes) {
      fail(mark, "the document has more than " + std::to_string(limits_.max_nodes) + " values");
    }
    YamlNode node;
    node.offset = offset_of(mark);
    node.in_flow = !open_.empty() && open_.back().flow;
    return node;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value style,
            YamlNode::Kind kind) {
    YamlNode node = begin(mark, tag, anchor);
    node.kind = kind;
    if (open_.size() >= static_cast<std::size_t>(std::max(limits_.max_depth, 0))) {
      fail(mark, "the document is nested more than " + std::to_string(limits_.max_depth) + " levels deep");
    }
    const bool flow = node.in_flow || style == YAML::EmitterStyle::Flow;
    open_.push_back({std::move(node), flow});
  }

  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().node.items.push_back(std::move(node));
    }
  }

  void pair_up(Open& map) const {
    std::set<std::string_view> seen;
    std::vector<YamlNode>& list = map.node.items;
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
      const YamlNode& key = list[i];
      if (key.kind == YamlNode::Kind::null) fail(key.offset, "a key is empty");
      if (!key.is_scalar()) fail(key.offset, "a key must be a plain word, not a list or a map");
      if (!seen.insert(key.text).second) fail(key.offset, "the key '" + key.text + "' comes twice");
    }
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
      map.node.entries.push_back({std::move(list[i]), std::move(list[i + 1])});
    }
    list.clear();
  }

  std::string_view text_;
  const Places& places_;
  const BatchLimits& limits_;
  YamlNode root_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

// Adds to messages of yaml-cpp what to do about them. Their texts differ between its releases, which may also name an
// anchor at the end, so the character that an error is about decides first.
std::string explained(const std::string& message, char at) {
  using namespace YAML::ErrorMsg;  // NOLINT: constants only
  struct Advice {
    std::string_view message;
    const char* text;
  };
  const std::array<Advice, 11> advice = {
      {{BAD_FILE, "the document is nested too deeply"},
       {UNKNOWN_TOKEN, "a value cannot begin with this character; put it in quotes"},
       {UNKNOWN_ANCHOR, kNoAnchors},
       {MULTIPLE_ANCHORS, kNoAnchors},
       {TAG_WITH_NO_SUFFIX, kNoTags},
       {END_OF_SEQ_FLOW, "a '[' is not closed"},
       {END_OF_MAP_FLOW, "a '{' is not closed"},
       {EOF_IN_SCALAR, "a text in quotes is not closed"},
       {MAP_VALUE, "a ':' is not expected here; text that holds ': ' needs quotes"},
       {END_OF_MAP, "the line does not continue the map above: check its indentation and its ':'"},
       {END_OF_SEQ, "the line does not continue the list above: check its indentation and its '-'"}}};
  if (at == '*' || at == '&') return kNoAnchors;
  if (at == '!') return kNoTags;
  const auto known = std::ranges::find_if(advice, [&](const Advice& it) { return message.starts_with(it.message); });
  return known == advice.end() ? message : known->text;
}

YamlNode parse_tree(const std::string& text, const Places& places, const BatchLimits& limits) {
  std::istringstream stream(text);
  YamlTreeBuilder builder(text, places, limits);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const auto offset = static_cast<std::size_t>(std::max(error.mark.pos, 0));
    const char at = offset < text.size() ? text[offset] : '\0';
    throw QueryError("malformed YAML: " + explained(error.msg, at), places.at(offset));
  }
  return std::move(builder).root();
}

// Finds, for each byte of a scalar's value, the byte of the document that it was made from, by reading both side by
// side: quotes, escapes, indentation and folded line ends stand in the document only.
class ScalarMap {
 public:
  ScalarMap(std::string_view document, const YamlNode& scalar) : text_(document), at_(scalar.offset) {
    style_ = at_ < text_.size() ? text_[at_] : ' ';
    if (style_ == '\'' || style_ == '"') ++at_;
    if (scalar.quoted && (style_ == '|' || style_ == '>')) at_ = std::min(text_.find('\n', at_), text_.size());
    offsets_.reserve(scalar.text.size() + 1);
    for (const char c : scalar.text) offsets_.push_back(is_blank(c) ? next_space(c) : next(c));
    offsets_.push_back(at_);
  }

  std::size_t operator[](std::size_t i) const { return offsets_[std::min(i, offsets_.size() - 1)]; }

 private:
  // A space of the value is one of the document, or a line end.
  std::size_t next_space(char c) {
    if (style_ == '"' && peek() == '\\') return next(c);
    const std::size_t here = at_;
    if (is_blank(peek())) ++at_;
    return here;
  }

  std::size_t next(char c) {
    if (continues_character(c)) return std::exchange(at_, at_ + (in_escape_ ? 0 : 1));
    in_escape_ = false;
    skip_layout();
    const std::size_t here = at_;
    if (style_ == '"' && peek() == '\\') {
      at_ += escape_length();
      // The later bytes of a character that an escape stands for come from the same escape.
      in_escape_ = true;
    } else {
      at_ += style_ == '\'' && c == '\'' ? 2 : 1;
    }
    return here;
  }

  void skip_layout() {
    while (at_ < text_.size()) {
      if (is_blank(text_[at_])) {
        ++at_;
      } else if (style_ == '"' && peek() == '\\' && at_ + 1 < text_.size() && is_blank(text_[at_ + 1]) &&
                 text_[at_ + 1] != ' ' && text_[at_ + 1] != '\t') {
        ++at_;  // an escaped line end
      } else {
        return;
      }
    }
  }

  std::size_t escape_length() const {
    switch (at_ + 1 < text_.size() ? text_[at_ + 1] : ' ') {
      case 'x': return 4;
      case 'u': return 6;
      case 'U': return 10;
      default: return 2;
    }
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  std::size_t at_;
  char style_ = ' ';
  bool in_escape_ = false;
  std::vector<std::size_t> offsets_;
};

bool has_open_parenthesis(std::string_view text) {
  return std::count(text.begin(), text.end(), '(') > std::count(text.begin(), text.end(), ')');
}

}  // namespace

YamlDocument::YamlDocument(std::string_view yaml, const std::string& source, const BatchLimits& limits)
    : text_(checked_text(yaml, source, limits)),
      places_(text_, {source, 1, 1}),
      root_(parse_tree(text_, places_, limits)) {}

Expression YamlDocument::expression(const YamlNode& scalar) const {
  return parse(parse_written, scalar, 0, scalar.text.size());
}

Expression YamlDocument::name_or_expression(const YamlNode& scalar) const {
  return name_or_expression(scalar, 0, scalar.text.size());
}

Expression YamlDocument::name_or_expression(const YamlNode& scalar, std::size_t begin, std::size_t size) const {
  return parse(parse_name_or_expression, scalar, begin, size);
}

Expression YamlDocument::parse(Parser parser, const YamlNode& scalar, std::size_t begin, std::size_t size) const {
  const ScalarMap map(text_, scalar);
  const auto place_of = [&](std::size_t offset) { return places_.at(map[begin + offset]); };
  try {
    const std::string_view text = std::string_view(scalar.text).substr(begin, size);
    return make_expression(parser(text, PlaceFunction(place_of)), place_of(0));
  } catch (const QueryError& error) {
    if (!scalar.in_flow || scalar.quoted || !has_open_parenthesis(scalar.text)) throw;
    throw QueryError(error.message() + " (inside [...] and {...} an expression with a comma needs quotes)",
                     error.location());
  }
}

SqlStatement YamlDocument::statement(const YamlNode& scalar) const {
  const ScalarMap map(text_, scalar);
  return parse_sql(scalar.text, [&](std::size_t offset) { return places_.at(map[offset]); });
}

void YamlDocument::fail(const YamlNode& node, const std::string& message) const {
  throw QueryError(message, place(node));
}

}  // namespace skyrank::query
