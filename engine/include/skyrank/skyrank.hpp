#pragma once

// Includes the whole public API except the adapters for Eigen (<skyrank/eigen.hpp>), which need Eigen's headers.

#include <skyrank/archive.hpp>
#include <skyrank/arrow.hpp>
#include <skyrank/arrow_device.hpp>
#include <skyrank/batch.hpp>
#include <skyrank/dlpack.hpp>
#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>
#include <skyrank/export.hpp>
#include <skyrank/expression.hpp>
#include <skyrank/fronts.hpp>
#include <skyrank/indicators.hpp>
#include <skyrank/metrics.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/plan.hpp>
#include <skyrank/preference.hpp>
#include <skyrank/query.hpp>
#include <skyrank/registry.hpp>
#include <skyrank/select.hpp>
#include <skyrank/source.hpp>
#include <skyrank/standing.hpp>
#include <skyrank/table.hpp>
#include <skyrank/table_spec.hpp>
#include <skyrank/types.hpp>
#include <skyrank/version.hpp>
#include <skyrank/warnings.hpp>
#include <skyrank/why.hpp>

/// Skyline and top-k queries over tables.
namespace skyrank {
/// The names of this major version, so that programs linked to two versions fail to link rather than mix them.
inline namespace v0 {}
}  // namespace skyrank
