#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/batch.hpp>
#include <skyrank/error.hpp>
#include <skyrank/expression.hpp>

#include "engine/query/ast.hpp"
#include "engine/query/places.hpp"
#include "engine/query/sql/parse.hpp"

// YAML that strangers wrote, as a plain tree: one document of maps with distinct scalar keys, sequences and scalars,
// within limits, without anchors, aliases and tags.
namespace skyrank::query {

struct YamlEntry;

struct YamlNode {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  std::size_t offset = 0;          ///< place of the first byte in the document's text
  std::string text;                ///< scalar: its value; null: as it was written
  bool quoted = false;             ///< scalar: in quotes or a block, so it is a string whatever it looks like
  bool in_flow = false;            ///< inside [...] or {...}
  std::vector<YamlNode> items;     ///< sequence
  std::vector<YamlEntry> entries;  ///< map, in the text's order

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_map() const { return kind == Kind::map; }
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

/// Thrown in place of mistakes that were collected.
struct MistakesCollected {};

/// A parsed text, with the places of its nodes.
class YamlDocument {
 public:
  /// QueryError with the place for malformed text and anything beyond `limits`.
  YamlDocument(std::string_view yaml, const std::string& source, const BatchLimits& limits);
  YamlDocument(const YamlDocument&) = delete;
  YamlDocument& operator=(const YamlDocument&) = delete;

  const YamlNode& root() const { return root_; }
  Location place(const YamlNode& node) const { return places_.at(node.offset); }

  /// The expression in a scalar; the places of its nodes and errors are those in the document, through quotes, escapes
  /// and folded lines.
  Expression expression(const YamlNode& scalar) const;
  /// The same where the name of a column may stand, which a text that is no expression is then.
  Expression name_or_expression(const YamlNode& scalar) const;
  /// The expression in a part of a scalar's value.
  Expression name_or_expression(const YamlNode& scalar, std::size_t begin, std::size_t size) const;

  /// The SQL statement in a scalar, with places like those of expressions.
  SqlStatement statement(const YamlNode& scalar) const;

  [[noreturn]] void fail(const YamlNode& node, const std::string& message) const;

  /// Collects the mistakes that `attempt` meets from now on, in place of throwing the first one.
  void collect(std::vector<QueryError>& mistakes) { mistakes_ = &mistakes; }
  bool collects() const { return mistakes_ != nullptr; }

  /// Reads a part of the document. Returns false where there are mistakes in it, which were collected.
  template <class Read>
  bool attempt(const Read& read) const {
    if (!collects()) {
      read();
      return true;
    }
    const std::size_t before = mistakes_->size();
    try {
      read();
    } catch (const MistakesCollected&) {
    } catch (const QueryError& mistake) {
      mistakes_->push_back(mistake);
    }
    return mistakes_->size() == before;
  }

  /// Reads each part, and throws MistakesCollected where there are mistakes in some of them.
  template <class Parts, class Read>
  void attempt_each(const Parts& parts, const Read& read) const {
    bool good = true;
    for (const auto& part : parts) good = attempt([&] { read(part); }) && good;
    if (!good) throw MistakesCollected{};
  }

 private:
  using Parser = NodePtr (*)(std::string_view text, const PlaceFunction& place);
  Expression parse(Parser parser, const YamlNode& scalar, std::size_t begin, std::size_t size) const;

  std::string text_;
  Places places_;
  YamlNode root_;
  std::vector<QueryError>* mistakes_ = nullptr;
};

}  // namespace skyrank::query
