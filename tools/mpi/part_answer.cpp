#include "tools/mpi/part_answer.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "datasets/arrow/partial_stream.hpp"

namespace skyrank::mpi {
namespace {

enum class Content : std::uint8_t { nothing, partial, error };

void append_memory(Bytes& bytes, const void* from, std::size_t count) {
  const std::size_t size = bytes.size();
  bytes.resize(size + count);
  if (count > 0) std::memcpy(bytes.data() + size, from, count);
}

template <class T>
void append(Bytes& bytes, const T& value) {
  append_memory(bytes, &value, sizeof(T));
}

void append(Bytes& bytes, const std::string& text) {
  append(bytes, std::uint64_t{text.size()});
  append_memory(bytes, text.data(), text.size());
}

/// Reads values one after the other.
class Unpacker {
 public:
  explicit Unpacker(const Bytes& bytes) : rest_(bytes) {}

  template <class T>
  T value() {
    T value{};
    std::memcpy(&value, next(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string text() {
    const std::span<const std::byte> characters = next(value<std::uint64_t>());
    return {reinterpret_cast<const char*>(characters.data()), characters.size()};
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> next(std::size_t count) {
    if (count > rest_.size()) throw RanksFailed("a message between ranks is cut short");
    const std::span<const std::byte> front = rest_.first(count);
    rest_ = rest_.subspan(count);
    return front;
  }

  std::span<const std::byte> rest_;
};

void append(Bytes& bytes, const RankError& error) {
  append(bytes, error.kind);
  append(bytes, error.message);
  append(bytes, error.location.source);
  append(bytes, error.location.line);
  append(bytes, error.location.column);
}

RankError unpack_error(Unpacker& unpacker) {
  RankError error;
  error.kind = unpacker.value<RankError::Kind>();
  if (error.kind > RankError::Kind::timeout) throw RanksFailed("a message between ranks has an error of no known kind");
  error.message = unpacker.text();
  error.location.source = unpacker.text();
  error.location.line = unpacker.value<std::int64_t>();
  error.location.column = unpacker.value<std::int64_t>();
  return error;
}

void append(Bytes& bytes, const Partial& partial) {
  const Bytes packed = datasets::partial_to_bytes(partial);
  append_memory(bytes, packed.data(), packed.size());
}

template <class E>
bool is(const std::exception& error) {
  return dynamic_cast<const E*>(&error) != nullptr;
}

RankError::Kind kind_of(const Error& error) {
  using Kind = RankError::Kind;
  if (is<QueryError>(error)) return Kind::query;
  if (is<BindError>(error)) return Kind::bind;
  if (is<DataError>(error)) return Kind::data;
  if (is<DeviceError>(error)) return Kind::device;
  return is<TimeoutError>(error) ? Kind::timeout : Kind::resource;
}

}  // namespace

RankError rank_error(const std::exception_ptr& exception, int rank) {
  const std::string who = "rank " + std::to_string(rank) + ": ";
  try {
    std::rethrow_exception(exception);
  } catch (const CancelledError&) {
    throw;
  } catch (const Error& error) {
    const RankError::Kind kind = kind_of(error);
    const bool of_machine = kind == RankError::Kind::device || kind == RankError::Kind::resource;
    return {kind, (of_machine ? who : "") + error.message(), error.location()};
  } catch (const std::bad_alloc&) {
    return {RankError::Kind::resource, who + "out of memory", {}};
  } catch (const std::exception& error) {
    return {RankError::Kind::resource, who + error.what(), {}};
  }
}

void throw_error(const RankError& error) {
  switch (error.kind) {
    case RankError::Kind::query: throw QueryError(error.message, error.location);
    case RankError::Kind::bind: throw BindError(error.message, error.location);
    case RankError::Kind::data: throw DataError(error.message, error.location);
    case RankError::Kind::device: throw DeviceError(error.message, error.location);
    case RankError::Kind::timeout: throw TimeoutError(error.message, error.location);
    default: throw ResourceError(error.message, error.location);
  }
}

Bytes to_bytes(const PartAnswer& answer) {
  Bytes bytes;
  if (answer.error) {
    append(bytes, Content::error);
    append(bytes, *answer.error);
  } else if (answer.partial) {
    append(bytes, Content::partial);
    append(bytes, *answer.partial);
  } else {
    append(bytes, Content::nothing);
  }
  return bytes;
}

PartAnswer part_answer(const Bytes& bytes) {
  Unpacker unpacker(bytes);
  switch (unpacker.value<Content>()) {
    case Content::nothing: return {};
    case Content::partial: return {datasets::partial_from_bytes(unpacker.rest()), {}};
    case Content::error: return {{}, unpack_error(unpacker)};
  }
  throw RanksFailed("a message between ranks is of no known kind");
}

}  // namespace skyrank::mpi
