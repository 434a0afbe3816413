#pragma once

#include <gtest/gtest.h>

#include <string>

namespace skyrank {

/// Returns the message of the error of type E that `f` throws; a failure where it throws none of that type.
template <class E, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error of this type";
  return "";
}

}  // namespace skyrank
