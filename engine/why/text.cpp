#include <string>
#include <vector>

#include <skyrank/why.hpp>

#include "engine/text.hpp"

// The words of a reason, for a person who knows the table and not the language.
namespace skyrank {
inline namespace v0 {
namespace {

std::string joined(const std::vector<std::string>& texts, const std::string& between) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

std::string row_text(RowId row) { return "row " + std::to_string(row); }

std::string dominated_text(const WhyNot& why) {
  const std::int64_t rows = why.num_dominators.value_or(0);
  const std::string count = std::to_string(rows) + (rows == 1 ? " row " : " rows ");
  if (!why.pareto) return count + (rows == 1 ? "is" : "are") + " better by the preference";
  return count + (rows == 1 ? "is" : "are") + " at least as good in everything and better in something";
}

std::string reason_text(const WhyNot& why) {
  switch (why.stage) {
    case WhyStage::in_answer: break;
    case WhyStage::where: return joined(why.reasons, ", and ");
    case WhyStage::missing: return joined(why.reasons, ", and ") + ", and such rows are left out";
    case WhyStage::dominated: return dominated_text(why);
    case WhyStage::duplicate:
      return (why.equal_row ? row_text(*why.equal_row) : "an earlier row") +
             " is equal in everything that is preferred, and only the first of equal rows is kept";
    case WhyStage::pick: return "other rows are picked";
    case WhyStage::offset:
      return "its place is " + std::to_string(why.place.value_or(0)) + ", which the offset leaves out";
    case WhyStage::limit: {
      std::string text = "its place is " + std::to_string(why.place.value_or(0));
      if (why.last_row) text += ", behind " + row_text(*why.last_row) + ", the last one in";
      if (!why.against_last.empty()) text += " (" + joined(why.against_last, "; ") + ")";
      return text;
    }
  }
  return "";
}

/// Returns the rest of the sentence: what would let the row in.
std::string change_text(const WhyNot& why) {
  std::vector<std::string> changes;
  bool all_known = true;
  for (const WhyChange& change : why.changes) {
    if (!change.change.empty()) changes.push_back(change.change);
    all_known = all_known && change.unknown.empty();
  }
  if (!changes.empty()) return "; with " + joined(changes, ", or with ") + " it would be in";
  return all_known ? "; no change of one value would let it in" : "";
}

}  // namespace

std::string to_string(WhyStage stage) {
  switch (stage) {
    case WhyStage::in_answer: return "answer";
    case WhyStage::where: return "where";
    case WhyStage::missing: return "missing";
    case WhyStage::dominated: return "dominated";
    case WhyStage::duplicate: return "duplicate";
    case WhyStage::pick: return "pick";
    case WhyStage::offset: return "offset";
    case WhyStage::limit: return "limit";
  }
  return "";
}

std::string to_string(const WhyNot& why) {
  if (why.stage == WhyStage::in_answer) {
    return "Row " + std::to_string(why.row) + " is in the answer, at place " + std::to_string(why.place.value_or(0)) +
           ".\n";
  }
  std::string text =
      "Row " + std::to_string(why.row) + " is not in the answer: " + reason_text(why) + change_text(why) + ".\n";
  if (!why.dominators.empty()) {
    const std::int64_t more = why.num_dominators.value_or(0) - static_cast<std::int64_t>(why.dominators.size());
    text += "Better rows, the nearest first:\n";
    for (const WhyDominator& dominator : why.dominators) {
      text += "  " + row_text(dominator.row) + ": better in " + query::listed(dominator.better_in) + "\n";
    }
    if (more > 0) text += "  and " + std::to_string(more) + " more\n";
  }
  for (const WhyChange& change : why.changes) {
    if (!change.unknown.empty()) text += "Not determined for " + change.term + ": " + change.unknown + "\n";
  }
  return text;
}

}  // namespace v0
}  // namespace skyrank
