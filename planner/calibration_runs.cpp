#include "planner/calibration_runs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <ostream>
#include <sstream>

#include "planner/cost/models.hpp"
#include "planner/fit.hpp"

namespace skyrank::planner {
namespace {

constexpr std::string_view kHeader =
    "algorithm,data,n,d,k,widths,ties,fused,memory,threads,sample,selectivity,distinct,order,ascending,tied,growth_"
    "sample,dims,"
    "drift,survivors,correlation,planning,seconds,parameters,best_ascending,scanned,scored";
constexpr std::size_t kFields = 27;
constexpr std::size_t kMinFields = 24;  ///< the last ones are missing in older files

std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 6).ptr};
}

void write_shape(std::ostream& out, const kernels::SkylineShape& shape) {
  out << shape.n << ',' << shape.d << ",," << static_cast<int>(shape.width) << ",,";
}

void write_shape(std::ostream& out, const kernels::TopKShape& shape) {
  out << shape.n << ',' << shape.widths.size() << ',' << shape.k << ',';
  for (std::size_t i = 0; i < shape.widths.size(); ++i) out << (i > 0 ? " " : "") << static_cast<int>(shape.widths[i]);
  out << ',' << static_cast<int>(shape.ties) << ',' << (shape.fused ? 1 : 0);
}

/// The fields of one line, read one after the other.
class Fields {
 public:
  Fields(const std::string& line, const std::string& place) : place_(place) {
    // Without a stream, which ends early when memory runs out.
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      fields_.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    if (fields_.size() >= kMinFields && fields_.size() < kFields) fields_.resize(kFields);
    if (fields_.size() != kFields) throw BadProfile{place_, "a line of " + std::to_string(fields_.size()) + " fields"};
  }

  const std::string& text() { return fields_[next_++]; }

  template <class T>
  T number() {
    return number_in<T>(text());
  }

  /// Reads values as text_of writes them.
  cost::Values values() {
    cost::Values values;
    std::istringstream stream(text());
    stream.exceptions(std::ios::badbit);
    for (std::string value; stream >> value;) {
      const std::size_t equals = value.find('=');
      if (equals == std::string::npos) throw BadProfile{place_, "'" + value + "' is no parameter's value"};
      values.emplace(value.substr(0, equals), number_in<std::int64_t>(value.substr(equals + 1)));
    }
    return values;
  }

  template <class T>
  T number_in(const std::string& field) const {
    T value{};
    if (field.empty()) return value;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) {
      throw BadProfile{place_, "'" + field + "' is not a number"};
    }
    return value;
  }

 private:
  std::string place_;
  std::vector<std::string> fields_;
  std::size_t next_ = 0;
};

/// Whichever kind of problem has a model of the name decides what a line is about.
bool ranks(std::string_view algorithm) { return static_cast<bool>(cost::topk_model(algorithm)); }

/// "name=value" for each, with spaces between.
std::string text_of(const cost::Values& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

std::vector<kernels::KeyWidth> widths_in(const std::string& text) {
  std::vector<kernels::KeyWidth> widths;
  std::istringstream stream(text);
  for (int bytes = 0; stream >> bytes;) widths.push_back(static_cast<kernels::KeyWidth>(bytes));
  return widths;
}

CalibrationRun read_run(Fields fields) {
  CalibrationRun run;
  run.algorithm = fields.text();
  run.data = fields.text();
  kernels::TopKShape shape;
  shape.n = fields.number<std::size_t>();
  const auto d = fields.number<std::size_t>();
  shape.k = fields.number<std::size_t>();
  shape.widths = widths_in(fields.text());
  shape.ties = static_cast<kernels::TieRule>(fields.number<int>());
  shape.fused = fields.number<int>() != 0;
  run.statistics.memory = static_cast<kernels::Memory>(fields.number<int>());
  run.threads = fields.number<int>();
  Statistics& s = run.statistics;
  s.sample = fields.number<std::size_t>();
  for (double* value : {&s.selectivity, &s.distinct, &s.order, &s.ascending, &s.ties, &s.growth.sample, &s.growth.dims,
                        &s.growth.drift, &s.survivors, &s.correlation, &run.planning, &run.seconds}) {
    *value = fields.number<double>();
  }
  run.parameters = fields.values();
  const std::string best_ascending = fields.text();
  s.best_ascending = best_ascending.empty() ? s.ascending : fields.number_in<double>(best_ascending);
  s.scanned = fields.number<double>();
  s.scored = fields.number<double>();
  if (ranks(run.algorithm)) {
    run.shape = std::move(shape);
  } else {
    const kernels::KeyWidth width = shape.widths.empty() ? kernels::KeyWidth::bytes4 : shape.widths.front();
    run.shape = kernels::SkylineShape{.n = shape.n, .d = d, .width = width};
  }
  return run;
}

/// Nothing of algorithms that have no model any more. Algorithms of GPUs have theirs in every build.
std::optional<cost::Cost> cost_of(const CalibrationRun& run, const PriceList& prices) {
  const Machine machine{.threads = run.threads, .cuda = true, .prices = &prices};
  if (!ranks(run.algorithm) && !cost::skyline_model(run.algorithm)) return std::nullopt;
  return std::visit(
      [&](const auto& shape) { return cost_of(run.algorithm, shape, machine, run.statistics, run.parameters); },
      run.shape);
}

}  // namespace

void write_runs(std::ostream& out, const std::vector<CalibrationRun>& runs) {
  out << kHeader << '\n';
  for (const CalibrationRun& run : runs) {
    const Statistics& s = run.statistics;
    out << run.algorithm << ',' << run.data << ',';
    std::visit([&](const auto& shape) { write_shape(out, shape); }, run.shape);
    out << ',' << static_cast<int>(s.memory) << ',' << run.threads << ',' << s.sample;
    for (const double value : {s.selectivity, s.distinct, s.order, s.ascending, s.ties, s.growth.sample, s.growth.dims,
                               s.growth.drift, s.survivors, s.correlation, run.planning, run.seconds}) {
      out << ',' << text_of(value);
    }
    out << ',' << text_of(run.parameters) << ',' << text_of(s.best_ascending) << ',' << text_of(s.scanned) << ','
        << text_of(s.scored) << '\n';
  }
}

std::string query_of(const CalibrationRun& run) {
  std::string text = run.data + " threads=" + std::to_string(run.threads);
  if (const auto* skyline = std::get_if<kernels::SkylineShape>(&run.shape)) {
    text += " n=" + std::to_string(skyline->n) + " skyline d=" + std::to_string(skyline->d);
  } else {
    const auto& ranking = std::get<kernels::TopKShape>(run.shape);
    text += " n=" + std::to_string(ranking.n) + " top-k k=" + std::to_string(ranking.k) +
            " columns=" + std::to_string(ranking.widths.size());
    if (ranking.ties != kernels::TieRule::first) text += " ties=" + std::to_string(static_cast<int>(ranking.ties));
  }
  return text + (run.statistics.memory == kernels::Memory::device ? " resident" : "");
}

std::vector<CalibrationRun> read_runs(std::istream& in, const std::string& source) {
  std::vector<CalibrationRun> runs;
  std::string line;
  int number = 0;
  while (std::getline(in, line)) {
    ++number;
    if (line.empty() || line.starts_with('#') || line.starts_with("algorithm,")) continue;
    runs.push_back(read_run(Fields(line, source + ":" + std::to_string(number))));
  }
  return runs;
}

std::optional<double> predict(const CalibrationRun& run, const PriceList& prices) {
  const std::optional<cost::Cost> cost = cost_of(run, prices);
  if (!cost) return std::nullopt;
  return seconds_of(*cost);
}

Profile fit(const std::vector<CalibrationRun>& runs) { return fit(runs, PriceList(Profile{})); }

Profile fit(const std::vector<CalibrationRun>& runs, const PriceList& known) {
  std::map<std::string, double> best;  // of a query
  for (const CalibrationRun& run : runs) {
    double& seconds = best.try_emplace(query_of(run), run.seconds).first->second;
    seconds = std::min(seconds, run.seconds);
  }
  std::map<std::string, std::vector<TimedRun>, std::less<>> by_algorithm;
  for (const CalibrationRun& run : runs) {
    std::optional<cost::Cost> cost = cost_of(run, known);
    if (!cost) continue;
    const bool stopped = !std::isfinite(run.seconds);
    const double seconds = stopped ? std::max(kHopeless * best.at(query_of(run)), kMinStopped) : run.seconds;
    if (!std::isfinite(seconds)) continue;
    by_algorithm[run.algorithm].push_back({*cost, seconds, stopped, best.at(query_of(run))});
  }
  Profile fitted;
  for (const auto& [algorithm, timed] : by_algorithm) fitted.algorithms.emplace(algorithm, fit(timed));
  return fitted;
}

}  // namespace skyrank::planner
