#include "engine/keys/key_cache.hpp"

#include <algorithm>
#include <iterator>

namespace skyrank::exec {
namespace {

/// Entries are looked for one by one; with more of them, a batch of many queries would take time that grows with its
/// square.
constexpr std::size_t kMaxEntries = 256;

bool same(const KeyedRows& a, const KeyedRows& b) {
  return !a.table.owner_before(b.table) && !b.table.owner_before(a.table) && a.rows == b.rows;
}

}  // namespace

std::string name_of_keys(const query::BoundExpression& expression, bool high, bool nulls_first) {
  return (nulls_first ? "NULL, then " : "") + std::string(high ? "high " : "low ") + expression.text;
}

std::size_t KeyCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::optional<Keys> KeyCache::find(const KeyedRows& of, const std::string& what) {
  const std::lock_guard lock(mutex_);
  const auto found = position(of, what);
  if (found == entries_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found);
  return found->keys;
}

void KeyCache::keep(const KeyedRows& of, const std::string& what, const Keys& keys, std::int64_t n) {
  const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(keys.column.width);
  const std::size_t most = max_bytes();
  const std::lock_guard lock(mutex_);
  drop_orphans();
  if (bytes > most || position(of, what) != entries_.end()) return;
  while (bytes_ + bytes > most || entries_.size() >= kMaxEntries) drop(std::prev(entries_.end()));
  entries_.push_front({of, what, keys, bytes});
  bytes_ += bytes;
}

void KeyCache::drop_all() {
  Entries dropped;  // dies after the lock
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
  bytes_ = 0;
}

KeyCache::Entries::iterator KeyCache::position(const KeyedRows& of, const std::string& what) {
  return std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.what == what && same(entry.of, of); });
}

void KeyCache::drop(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  entries_.erase(entry);
}

void KeyCache::drop_orphans() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->of.table.expired()) drop(entry);
    entry = next;
  }
}

}  // namespace skyrank::exec
