#pragma once

#include <new>
#include <string>

#include <skyrank/error.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/runtime/query_memory.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {

/// Runs f, which copies rows of parts: the copies count on the engine's account until it returns. ResourceError where
/// they exceed what is left of the limit, or there is no memory.
template <class F>
auto with_counted_copies(const EngineState& engine, const Query& query, const F& f) {
  try {
    const kernels::AccountScope counted(engine.memory.get());
    const QueryMemory copies;
    return f();
  } catch (const kernels::OverLimit& over) {
    throw ResourceError("the rows of partial answers need " + std::to_string(over.asked) + " more bytes where " +
                            std::to_string(over.used) + " are in use, and the engine's limit of memory is " +
                            std::to_string(over.limit) + "; merge fewer at a time, or raise memory_bytes",
                        query.location());
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while copying the rows of partial answers", query.location());
  }
}

}  // namespace skyrank::exec
