#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <skyrank/types.hpp>

#include "engine/decimal.hpp"
#include "engine/standing/front_keys.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/cpu/fronts/front_tree.hpp"

// The skyline of rows that come, change and go. Each row that is in no skyline remembers one row that dominates it.
// When that one goes, and only then, the row is compared with the skyline again; it may be in it, or remember another
// one. The skyline is a tree of boxes (kernels/cpu/fronts/front_tree.hpp), of which a step changes a copy that shares
// nodes. Rows of a step that no row of the skyline dominates are looked at in the order of the sums of their keys: a
// row that dominates another one comes before it.
namespace skyrank::exec {

/// Rows with their keys: new ones, or rows with new values, that pass the condition.
struct FrontInput {
  std::vector<RowId> ids;
  std::vector<std::uint64_t> keys;  ///< row by row
};

/// A skyline, and the dominators of all other rows.
class Front {
 public:
  /// Rows have `dims` keys, and are kept in chunks of 2^chunk_bits ids. Without `keeps_dominated` dominated rows are
  /// forgotten, and none may go.
  Front(std::size_t dims, int chunk_bits, bool keeps_dominated);

  /// A change that is made beside the front.
  struct Step {
    explicit Step(kernels::fronts::FrontTree tree) : tree_(std::move(tree)) {}

    std::vector<RowId> entered;  ///< rows that come into the skyline, or are in it with new values, ascending
    std::vector<RowId> left;     ///< rows that go out of it, or were in it with old values, ascending

    /// Returns the number of rows of the skyline after the step.
    std::size_t size() const { return tree_.size(); }

   private:
    friend class Front;
    /// A row whose dominator becomes another one.
    struct Placed {
      RowId id;
      RowId dominator;      ///< negative: it is in the skyline
      std::ptrdiff_t keys;  ///< first of its new keys in keys_; negative: they stay
    };
    struct Chunk;
    struct NumberedChunk {
      std::int64_t number;  ///< the place of its range among all ranges of ids
      std::shared_ptr<Chunk> chunk;
    };
    kernels::fronts::FrontTree tree_;
    std::vector<RowId> removed_;  // ascending
    std::vector<Placed> placed_;
    kernels::Vector<kernels::fronts::Lane> keys_;
    std::vector<NumberedChunk> chunks_;  // all of them, where there are new ones
  };

  /// Finds what changes when rows go, of which some are none of the front's, and others come. Throws
  /// kernels::OverLimit, and kernels::Cancelled where the query of the thread is stopped.
  Step plan(std::span<const RowId> removed, const FrontInput& input) const;

  /// Makes the change. Does not throw.
  void commit(Step&& step) noexcept;

  /// Returns the rows of the skyline.
  FrontInput rows() const;

 private:
  using Chunk = Step::Chunk;
  using NumberedChunk = Step::NumberedChunk;
  struct Examined;
  class Search;

  std::int64_t chunk_of(RowId id) const { return id >> chunk_bits_; }
  std::size_t place_of(RowId id) const { return static_cast<std::size_t>(id & ((RowId{1} << chunk_bits_) - 1)); }
  Chunk* chunk(RowId id) const;
  bool is_there(RowId id) const;
  const kernels::fronts::Lane* keys(RowId id) const;
  RowId& dominator(RowId id) const;
  RowId& first(RowId id) const;
  RowId& next(RowId id) const;
  RowId& before(RowId id) const;
  std::vector<Examined> rows_to_compare(const Step& step, const FrontInput& input) const;
  void add_chunks(Step& step, std::span<const RowId> ids) const;
  void unlink(RowId id) noexcept;
  void link(RowId id, RowId of) noexcept;

  std::size_t dims_;
  int chunk_bits_;
  bool keeps_dominated_;
  kernels::fronts::FrontTree tree_;
  std::vector<NumberedChunk> chunks_;  // of the ranges where rows are, ascending
};

}  // namespace skyrank::exec
