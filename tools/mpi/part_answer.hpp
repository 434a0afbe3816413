#pragma once

#include <exception>
#include <optional>
#include <string>

#include <skyrank/error.hpp>
#include <skyrank/partial.hpp>

#include "tools/mpi/ranks.hpp"

// Packs answers and errors of ranks as bytes for other ranks.
namespace skyrank::mpi {

/// An error of a rank that can be thrown in another one.
struct RankError {
  enum class Kind : std::uint8_t { query, bind, data, device, resource, timeout };

  Kind kind = Kind::resource;
  std::string message;
  Location location;

  bool operator==(const RankError&) const = default;
};

/// Returns what can be told of an exception, for which the rank is named where it is that rank's machine that failed.
/// CancelledError is thrown on, since it ends all ranks.
RankError rank_error(const std::exception_ptr& exception, int rank);

[[noreturn]] void throw_error(const RankError& error);

/// The contribution of a rank, or of several, to the answer of a query: a partial answer, an error, or neither where
/// there were no rows.
struct PartAnswer {
  std::optional<Partial> partial;
  std::optional<RankError> error;
};

/// Packs an answer for another rank: a partial answer as an Arrow stream of one record batch. ResourceError.
Bytes to_bytes(const PartAnswer& answer);

/// Unpacks what to_bytes() packed. RanksFailed for anything else, DataError for a partial answer that is none.
PartAnswer part_answer(const Bytes& bytes);

}  // namespace skyrank::mpi
