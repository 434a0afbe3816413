#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "planner/cost/common.hpp"
#include "planner/cost/terms.hpp"

// Helpers that cost models of GPU algorithms share. The rates are those of one H200, rounded.
namespace skyrank::planner::cost {

inline constexpr double kCudaStart = 40e-6;       // to send a problem there and to wait for its answer
inline constexpr double kCudaLaunch = 4e-6;       // one kernel after another
inline constexpr double kCudaWait = 15e-6;        // of the host for a number that the device alone knows
inline constexpr double kCudaPart = 50e-6;        // of a ranking by more than 64 bits: keys, launches, two waits
inline constexpr double kCudaByte = 1 / 4.4e12;   // of device memory, read or written in large pieces
inline constexpr double kTransferByte = 1 / 8e9;  // between pageable host memory and the device

inline constexpr double kCudaOperation = 1 / 7e12;  // one of 32 bits, of one thread among many

inline constexpr double kCudaCounter = 0.6e-9;  // of a digit or bucket, set to 0 and summed up over all blocks

/// Bytes of the one key that all columns are packed into, and of a row id beside it.
inline double packed_bytes(const kernels::TopKShape& shape) { return key_bytes(shape) <= 4 ? 4 : 8; }
inline double element_bytes(const kernels::TopKShape& shape) { return 2 * packed_bytes(shape); }

/// Returns the number of leading bits that all keys of the sample have in common.
inline double shared_bits(const kernels::TopKShape& shape, const Statistics& statistics) {
  if (statistics.quantiles.empty() || shape.widths.empty()) return 0;
  const int unused = 64 - kernels::bits(shape.widths.front());
  return std::countl_zero(statistics.quantiles.front() ^ statistics.quantiles.back()) - unused;
}

/// Returns k, at most the number of rows.
inline double wanted(const kernels::TopKShape& shape) { return static_cast<double>(std::min(shape.n, shape.k)); }

/// Bytes to the device before an algorithm starts: the keys, or the columns that these are made of there.
inline double bytes_sent(const Statistics& statistics, double keys) {
  return statistics.memory == kernels::Memory::host ? keys : statistics.unsent;
}

/// The work of the algorithm itself, with the keys in one column on the device.
struct CudaWork {
  double launches = 0;
  double bytes = 0;        ///< device memory read or written
  double elements = 0;     ///< peak temporary memory: keys with their row ids, or rows of keys
  bool widens = true;      ///< keys narrower than 4 bytes, or between 4 and 8, before it reads them
  bool orders = true;      ///< true if the chosen elements are put in order
  bool scans = false;      ///< columns in place of keys, where it may; for others a scan makes keys first
  TermList<8> other = {};  ///< further terms of the algorithm
};

/// Rankings whose keys do not fit 64 bits together go part by part, and what they choose is put in order by as many
/// sorts.
struct CudaParts {
  double more = 0;      ///< than one
  double launches = 0;  ///< launches of the sorts
};

inline CudaParts parts_of(const kernels::TopKShape& shape) {
  constexpr double kMax = 8;         // bytes of a part
  constexpr double kOneTile = 2048;  // rows that one launch sorts
  constexpr double kOfDigits = 12;   // launches for more
  const double more = std::max(0.0, std::ceil(key_bytes(shape) / kMax) - 1);
  if (more == 0) return {};
  return {more, (more + 2) * (wanted(shape) > kOneTile ? kOfDigits : 1)};
}

/// Adds all but the algorithm itself: keys to the device and into one column, k elements put in order, row ids back.
inline Cost cuda_cost(const kernels::TopKShape& shape, const Statistics& statistics, CudaWork work) {
  constexpr double kBlockSort = 4096;  // elements that one block sorts
  const double n = static_cast<double>(shape.n);
  const double k = wanted(shape);
  if (shape.widths.size() > 1 || (work.widens && packed_bytes(shape) != key_bytes(shape))) {
    work.launches += 1;
    work.bytes += n * (key_bytes(shape) + packed_bytes(shape));
  }
  if (work.orders) {
    work.launches += k > kBlockSort ? 10 : 3;
    work.bytes += 20 * k * element_bytes(shape);
  }
  if (shape.ties == kernels::TieRule::all) {
    work.launches += 3;
    work.bytes += 2 * n * packed_bytes(shape);
  }
  if (statistics.scanned > 0 && !work.scans) {
    work.launches += 1;
    work.bytes += n * (statistics.scanned + key_bytes(shape));
  }
  const double sent = bytes_sent(statistics, n * key_bytes(shape));
  const CudaParts parts = parts_of(shape);
  Terms terms{{"start", 1, kCudaStart},
              {"bytes-sent", sent, kTransferByte},
              {"bytes-fetched", 8 * k, kTransferByte},
              {"launches", work.launches, kCudaLaunch},
              {"bytes", work.bytes, kCudaByte},
              {"parts", parts.more, kCudaPart},
              {"parts-launches", parts.launches, kCudaLaunch},
              {"ties", shape.ties == kernels::TieRule::all ? 1.0 : 0.0, kCudaWait}};
  terms.append(work.other);
  return {terms, sent + n * packed_bytes(shape) + work.elements * element_bytes(shape)};
}

/// The same for skylines: keys to the device, a bit for each row back.
inline Cost cuda_cost(const kernels::SkylineShape& shape, const Statistics& statistics, CudaWork work) {
  const double n = static_cast<double>(shape.n);
  const double row_bytes = static_cast<double>(shape.d) * static_cast<double>(shape.width);
  const double sent = bytes_sent(statistics, n * row_bytes);
  Terms terms{{"start", 1, kCudaStart},
              {"bytes-sent", sent, kTransferByte},
              {"bytes-fetched", n / 8, kTransferByte},
              {"launches", work.launches, kCudaLaunch},
              {"bytes", work.bytes, kCudaByte}};
  terms.append(work.other);
  return {terms, sent + n / 8 + work.elements * row_bytes};
}

}  // namespace skyrank::planner::cost
