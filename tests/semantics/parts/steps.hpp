#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/partial.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/key_columns.hpp"
#include "engine/executor/query_context.hpp"
#include "engine/executor/run_whole.hpp"
#include "engine/parts/states/query_state.hpp"

// States of queries, for the tests of what runs by parts.
namespace skyrank::exec {

/// The inside of an engine that answers on two threads of the CPU.
inline const EngineState& state() {
  static const EngineState two({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  return two;
}

/// The context of queries that nobody stops.
inline const QueryContext& context() {
  static Limits limits(Query(), {}, state().timer);
  static const QueryContext one(state(), limits, {});
  return one;
}

/// Returns a table with the columns of a query's keys.
inline Table keyed(const Query& query, const Table& table) {
  return with_key_columns(query::bind_with_keys(query, table), table);
}

/// Returns how the states of a query over a table run over the parts of that table with its keys.
inline StateSteps steps_of(const Query& query, const Table& table) {
  return {.context = context(),
          .query = query::bind_with_keys(query, table).query,
          .run = run_whole,
          .fingerprint = fingerprint_of(query)};
}

}  // namespace skyrank::exec
