#include "engine/operators/filter/filter.hpp"

#include <cstdint>
#include <utility>

#include "engine/device/translate.hpp"
#include "engine/expression/evaluate.hpp"
#include "engine/expression/lowering/compile_steps.hpp"
#include "engine/expression/program.hpp"

namespace skyrank::exec {

namespace cuda = kernels::cuda;

RowSet filter(DeviceQueryState& device_state, const query::BoundExpression& condition, const Table& table,
              const RowSet& rows) {
  const auto program = compile(condition, table);
  if (auto translated = translate(device_state, *program)) {
    compile_steps(*translated, cuda::expression::Leaves::truth);
    cuda::expression::Passing passing = cuda::expression::filter(*translated, device_state.rows(rows));
    if (!passing.failed) return RowSet::on_device(static_cast<std::int64_t>(passing.n), std::move(passing.ids));
  }
  return RowSet::listed(filter(condition, table, rows.view()));
}

}  // namespace skyrank::exec
