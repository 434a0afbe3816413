#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/keys/keys.hpp"

// Keys that queries leave for later ones over the same rows of the same table.
namespace skyrank::exec {

/// The rows that keys belong to: `rows` names them, and `table` is alive as long as the table is.
struct KeyedRows {
  std::weak_ptr<const void> table;
  std::string rows;
};

/// Keys of many tables in one kind of memory, up to a number of bytes; the least recently used go first, and those of
/// tables that are gone. Thread-safe.
class KeyCache {
 public:
  /// `max_bytes` is asked once keys are there to be kept, and may have to ask a device.
  explicit KeyCache(std::function<std::size_t()> max_bytes) : max_bytes_(std::move(max_bytes)) {}
  explicit KeyCache(std::size_t max_bytes) : KeyCache([max_bytes] { return max_bytes; }) {}

  std::size_t max_bytes() const { return max_bytes_(); }
  std::size_t bytes() const;

  std::optional<Keys> find(const KeyedRows& of, const std::string& what);
  /// Keeps n keys that own their memory, on the host or on a device.
  void keep(const KeyedRows& of, const std::string& what, const Keys& keys, std::int64_t n);
  /// Keeps none any more.
  void drop_all();

 private:
  struct Entry {
    KeyedRows of;
    std::string what;
    Keys keys;
    std::size_t bytes;
  };
  using Entries = std::list<Entry>;

  Entries::iterator position(const KeyedRows& of, const std::string& what);
  void drop(Entries::iterator entry);
  void drop_orphans();

  const std::function<std::size_t()> max_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;  // the most recently used first
  std::size_t bytes_ = 0;
};

/// Returns the name of an expression's keys, low or high values first, NULL before or behind them.
std::string name_of_keys(const query::BoundExpression& expression, bool high, bool nulls_first);

/// The source of keys for the operators of one query: shared keys if there are some, otherwise keys that are made now
/// and then shared.
class KeyShare {
 public:
  /// Shares nothing.
  KeyShare() = default;
  /// `keys` must outlive it.
  KeyShare(KeyCache& keys, KeyedRows of) : keys_(&keys), of_(std::move(of)) {}

  /// The keys named `what` of n rows; `make` makes them.
  template <class Make>
  Keys get(const std::string& what, std::int64_t n, const Make& make) {
    if (keys_ == nullptr) return make();
    if (std::optional<Keys> known = keys_->find(of_, what)) {
      ++found_;
      return *std::move(known);
    }
    ++made_;
    Keys keys = make();
    keys_->keep(of_, what, keys, n);
    return keys;
  }

  bool is_on() const { return keys_ != nullptr; }
  int found() const { return found_; }
  int made() const { return made_; }

 private:
  KeyCache* keys_ = nullptr;
  KeyedRows of_;
  int found_ = 0;
  int made_ = 0;
};

}  // namespace skyrank::exec
