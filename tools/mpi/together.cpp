#include <exception>
#include <new>
#include <string>

#include "tools/mpi/commands.hpp"

namespace skyrank::mpi {

int together(const Session& session, tools::Console& console, const std::function<void()>& f) {
  int status = tools::success;
  std::string why;
  try {
    f();
  } catch (const CancelledError&) {
    throw;
  } catch (const std::bad_alloc&) {
    status = tools::system_failure;
    why = "out of memory";
  } catch (const std::exception& error) {
    status = tools::exit_status(error);
    why = error.what();
  }
  const int first = least_of_ranks(status == tools::success ? session.size() : session.rank());
  if (first == session.size()) return tools::success;
  if (first == session.rank()) {
    console.complain(session.size() > 1 ? "rank " + std::to_string(first) + ": " + why : why);
  }
  // The others' own errors, if they have some, are mostly the same.
  return greatest_of_ranks(first == session.rank() ? status : 0);
}

}  // namespace skyrank::mpi
