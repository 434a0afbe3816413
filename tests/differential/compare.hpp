#pragma once

#include <string>

#include <skyrank/table.hpp>

#include "tests/differential/generate.hpp"
#include "tests/differential/oracle/oracle.hpp"

namespace skyrank::differential {

/// Says how the cells of an answer differ from what they should be; empty where they do not.
std::string difference(const Table& table, const Answer& expected);

/// Options of engines that a run tries or leaves out.
Names names_of_engine(bool cuda);

}  // namespace skyrank::differential
