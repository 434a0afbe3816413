#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/standing.hpp>

#include "engine/python/src/bind.hpp"
#include "engine/python/src/forked_engine.hpp"
#include "engine/python/src/interruptible.hpp"
#include "engine/query/duration.hpp"

namespace skyrank::python {
namespace {

/// A standing query, which ends with the process that made it: a forked child has none of the threads of its engine.
class OwnStanding {
 public:
  explicit OwnStanding(std::unique_ptr<StandingQuery> standing) : standing_(std::move(standing)), process_(getpid()) {}

  ~OwnStanding() {
    // NOLINTNEXTLINE(bugprone-unused-return-value): it stays, as threads that hold its locks are not here
    if (process_ != getpid()) static_cast<void>(standing_.release());
  }
  OwnStanding(const OwnStanding&) = delete;
  OwnStanding& operator=(const OwnStanding&) = delete;

  StandingQuery& get() const {
    if (process_ != getpid())
      throw ResourceError("a standing query is for the process that made it, not for its forks");
    return *standing_;
  }

 private:
  std::unique_ptr<StandingQuery> standing_;
  pid_t process_;
};

/// Returns the window of so many rows, or by a column as long as a text says; none without both.
StandingWindow window_of(std::optional<std::int64_t> rows, const std::optional<std::string>& by,
                         const std::string& last) {
  if (rows) return RowWindow{*rows};
  if (!by) return {};
  const std::optional<Int128> length = parse_nanoseconds(last);
  if (!length || *length > std::numeric_limits<std::int64_t>::max()) {
    throw QueryError("the length of a window is a time such as 90s, 5min, 1h or 7d, not '" + last + "'");
  }
  return TimeWindow{*by, std::chrono::nanoseconds(static_cast<std::int64_t>(*length))};
}

OwnStanding* make_standing(ForkedEngine& engine, const Query& query, const Table& schema,
                           std::optional<std::int64_t> rows, const std::optional<std::string>& by,
                           const std::string& last, bool append_only) {
  return new OwnStanding(std::make_unique<StandingQuery>(
      engine.get(), query, schema, StandingOptions{.window = window_of(rows, by, last), .append_only = append_only}));
}

OwnStanding* load_standing(ForkedEngine& engine, const std::string& file, const Query& query, const Table& schema,
                           std::optional<std::int64_t> rows, const std::optional<std::string>& by,
                           const std::string& last, bool append_only, const Call& call) {
  const StandingOptions options{.window = window_of(rows, by, last), .append_only = append_only};
  const Engine& own = engine.get();
  return interruptible(call.main_thread, [&](std::stop_token stop) {
    return new OwnStanding(std::make_unique<StandingQuery>(
        StandingQuery::load(own, file, query, schema, options, call.options(std::move(stop)))));
  });
}

/// Calls f(standing, options) as a call of Python runs, and returns the ids that entered and left.
template <class F>
nb::tuple changed(OwnStanding& self, const Call& call, const F& f) {
  StandingQuery& standing = self.get();
  const Changes changes =
      interruptible(call.main_thread, [&](std::stop_token stop) { return f(standing, call.options(std::move(stop))); });
  return nb::make_tuple(changes.entered, changes.left);
}

}  // namespace

void bind_standing(nb::module_& module) {
  nb::class_<OwnStanding>(module, "StandingQuery")
      .def(nb::new_(&make_standing), nb::keep_alive<0, 1>(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
           nb::arg().none(), nb::arg(), nb::arg())
      .def_static("load", &load_standing, nb::keep_alive<0, 1>(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
                  nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def("save",
           [](const OwnStanding& self, const std::string& file) {
             const StandingQuery& standing = self.get();
             const nb::gil_scoped_release others_run;
             standing.save(file);
           })
      .def("insert",
           [](OwnStanding& self, const Table& rows, const Call& call) {
             return changed(self, call, [&](StandingQuery& standing, const RunOptions& options) {
               return standing.insert(rows, options);
             });
           })
      .def("erase",
           [](OwnStanding& self, const std::vector<RowId>& ids, const Call& call) {
             return changed(self, call, [&](StandingQuery& standing, const RunOptions& options) {
               return standing.erase(ids, options);
             });
           })
      .def("update",
           [](OwnStanding& self, const std::vector<RowId>& ids, const Table& rows, const Call& call) {
             return changed(self, call, [&](StandingQuery& standing, const RunOptions& options) {
               return standing.update(ids, rows, options);
             });
           })
      .def("answer", [](const OwnStanding& self) { return Result(*without_gil([&] { return self.get().answer(); })); })
      .def("next_id", [](const OwnStanding& self) { return self.get().next_id(); })
      .def("num_rows", [](const OwnStanding& self) { return self.get().num_rows(); })
      .def("explain",
           [](const OwnStanding& self) { return without_gil([&] { return to_string(self.get().explain()); }); });
}

}  // namespace skyrank::python
