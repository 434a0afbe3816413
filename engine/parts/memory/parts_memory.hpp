#pragma once

#include <new>
#include <string>

#include <skyrank/error.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/memory_limit.hpp"
#include "engine/runtime/query_memory.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {

/// Runs f, which copies rows of parts: the copies count on the engine's account until it returns. ResourceError where
/// they exceed what is left of the limit, or there is no memory.
template <class F>
auto with_counted_copies(const EngineState& engine, const Location& location, const F& f) {
  try {
    const kernels::AccountScope counted(engine.memory.get());
    const QueryMemory copies;
    return f();
  } catch (const kernels::OverLimit& over) {
    throw ResourceError("the rows that the query keeps need " + words_of_bytes(static_cast<double>(over.asked)) +
                            " more where " + words_of_bytes(static_cast<double>(over.used)) +
                            " are in use, and the engine's limit of memory is " +
                            words_of_bytes(static_cast<double>(over.limit)) +
                            "; raise it, keep fewer rows, as with 'limit', or merge fewer "
                            "parts at a time",
                        location);
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while copying the rows of partial answers", location);
  }
}

}  // namespace skyrank::exec
