#include "planner/profile.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include "planner/cost/correction.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner {
namespace {

constexpr int kVersion = 2;
constexpr std::string_view kConstant = "all";  ///< a correction's, beside its coefficients

/// The lines of planner/profiles/default.yaml, put in by the build; compilers need not take one literal that long.
constexpr const char* kBuiltIn[] = {
#include "default_profile.inc"
};

std::string built_in_text() {
  std::string text;
  for (const char* const line : kBuiltIn) text.append(line) += '\n';
  return text;
}

double read_rate(const YAML::Node& node, const std::string& name) {
  const auto value = node.as<double>();
  if (std::isfinite(value) && value >= 0) return value;
  throw YAML::RepresentationException(node.Mark(), "'" + name + "' must be a number, 0 or more");
}

template <class Map>
Map read_rates(const YAML::Node& node) {
  Map rates;
  for (const auto& entry : node) {
    const auto name = entry.first.as<std::string>();
    rates.emplace(name, read_rate(entry.second, name));
  }
  return rates;
}

template <class Map>
void write_rates(YAML::Emitter& out, const Map& rates) {
  out << YAML::BeginMap;
  for (const auto& [name, value] : rates) out << YAML::Key << name << YAML::Value << value;
  out << YAML::EndMap;
}

/// Returns the names of an algorithm's features; none if it is not known, because a profile may be older or newer.
std::span<const std::string_view> correction_names_of(std::string_view algorithm) {
  if (cost::topk_model(algorithm)) return cost::correction_names(true);
  return cost::skyline_model(algorithm) ? cost::correction_names(false) : std::span<const std::string_view>();
}

/// A profile's text without its points, which are nearly all of it: yaml-cpp takes 0.1 us for a character.
struct SplitText {
  /// Lines that were taken out.
  struct Gap {
    int line;  ///< line of `yaml`, from 0, that comes after them
    int size;
  };

  std::string yaml;                      ///< with a number tagged kTaken for each block of points
  std::vector<std::string_view> points;  ///< the blocks that the numbers stand for
  std::vector<Gap> gaps;

  /// The error as it would be in the whole text.
  YAML::Exception in_whole(const YAML::Exception& error) const {
    YAML::Mark mark = error.mark;
    for (const Gap& gap : gaps) mark.line += gap.line <= error.mark.line ? gap.size : 0;
    return {mark, error.msg};
  }
};
constexpr std::string_view kTaken = "!taken";

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// Takes blocks as to_yaml writes them; points that are written in another way stay where they are.
SplitText split(std::string_view text) {
  constexpr std::string_view kBlock = "near: |";
  SplitText result;
  std::size_t at = 0;
  int line_of_yaml = 0;
  const auto next_line = [&] {
    const std::size_t end = text.find('\n', at);
    return text.substr(at, end == std::string_view::npos ? end : end - at);
  };
  const auto pass = [&](std::string_view line) { at = std::min(at + line.size() + 1, text.size()); };
  while (at < text.size()) {
    const std::string_view line = next_line();
    const std::size_t indent = indent_of(line);
    pass(line);
    ++line_of_yaml;
    if (line.substr(indent) != kBlock) {
      result.yaml.append(line) += '\n';
      continue;
    }
    result.yaml.append(indent, ' ').append("near: ").append(kTaken);
    result.yaml.append(" '" + std::to_string(result.points.size()) + "'\n");
    const std::size_t begin = at;
    SplitText::Gap gap{.line = line_of_yaml, .size = 0};
    while (at < text.size()) {
      const std::string_view row = next_line();
      if (indent_of(row) < row.size() && indent_of(row) <= indent) break;
      ++gap.size;
      pass(row);
    }
    result.gaps.push_back(gap);
    result.points.push_back(text.substr(begin, at - begin));
  }
  return result;
}

const char* skip_space(const char* at, const char* end) {
  return std::find_if(at, end, [](char c) { return c != ' ' && c != '\n'; });
}

/// Numbers between white space; nothing where there is something else, or one is not finite.
std::optional<std::vector<float>> numbers_of(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::vector<float> numbers;
  for (const char* at = text.data(); (at = skip_space(at, end)) != end;) {
    float value = 0;
    const auto [after, error] = std::from_chars(at, end, value);
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    numbers.push_back(value);
    at = after;
  }
  return numbers;
}

/// The numbers of a node, or those that were taken from there.
std::vector<float> read_numbers(const YAML::Node& node, std::span<const std::string_view> taken) {
  const auto text = node.as<std::string>();
  const auto which = node.Tag() == kTaken ? node.as<std::size_t>(taken.size()) : taken.size();
  if (auto numbers = numbers_of(which < taken.size() ? taken[which] : text)) return std::move(*numbers);
  throw YAML::RepresentationException(node.Mark(), "must be finite numbers");
}

/// A coefficient for each name, 0 where the profile has none; none at all in profiles of before there were points.
std::optional<Correction> read_correction(const YAML::Node& node, std::span<const std::string_view> names,
                                          std::span<const std::string_view> taken) {
  const YAML::Node linear = node["linear"];
  if (!linear) return std::nullopt;
  Correction correction;
  correction.linear.resize(names.size() + 1);
  for (const auto& entry : linear) {
    const auto name = entry.first.as<std::string>();
    const auto value = entry.second.as<double>();
    if (!std::isfinite(value)) throw YAML::RepresentationException(entry.second.Mark(), "must be a finite number");
    const auto found = std::ranges::find(names, name);
    if (name == kConstant) correction.linear.front() = value;
    if (found != names.end()) correction.linear[static_cast<std::size_t>(found - names.begin()) + 1] = value;
  }
  const YAML::Node near = node["near"];
  if (!near) return correction;
  const std::vector<float> numbers = read_numbers(near, taken);
  const std::size_t fields = names.size() + 1;
  if (numbers.size() % fields != 0) {
    throw YAML::RepresentationException(near.Mark(), "needs " + std::to_string(fields) + " numbers for each point");
  }
  const std::size_t count = numbers.size() / fields;
  correction.points.resize(count * names.size());
  for (std::size_t i = 0; i < count; ++i) {
    correction.weights.push_back(numbers[i * fields]);
    for (std::size_t j = 0; j < names.size(); ++j) correction.points[j * count + i] = numbers[i * fields + j + 1];
  }
  return correction;
}

/// A line for each point: its weight, then its features.
std::string text_of_points(const Correction& correction) {
  const std::size_t count = correction.weights.size();
  std::string text;
  char number[32];
  const auto add = [&](float value, char after) {
    const auto end = std::to_chars(number, number + sizeof(number), value, std::chars_format::general, 3).ptr;
    text.append(number, end);
    text.push_back(after);
  };
  for (std::size_t i = 0; i < count; ++i) {
    add(correction.weights[i], ' ');
    const std::size_t features = correction.points.size() / count;
    for (std::size_t j = 0; j < features; ++j) add(correction.points[j * count + i], j + 1 < features ? ' ' : '\n');
  }
  return text;
}

void write_correction(YAML::Emitter& out, const Correction& correction, std::span<const std::string_view> names) {
  out << YAML::BeginMap << YAML::Key << "linear" << YAML::Value << YAML::Flow << YAML::BeginMap;
  for (std::size_t i = 0; i < std::min(names.size() + 1, correction.linear.size()); ++i) {
    out << YAML::Key << std::string(i == 0 ? kConstant : names[i - 1]) << YAML::Value << correction.linear[i];
  }
  out << YAML::EndMap;
  if (!correction.weights.empty()) {
    out << YAML::Key << "near" << YAML::Value << YAML::Literal << text_of_points(correction);
  }
  out << YAML::EndMap;
}

Profile profile_of(const YAML::Node& root, std::span<const std::string_view> taken) {
  Profile profile;
  profile.cpu = root["cpu"].as<std::string>("");
  profile.cores = root["cores"].as<int>(0);
  profile.gpu = root["gpu"].as<std::string>("");
  if (root["rates"]) profile.rates = read_rates<decltype(profile.rates)>(root["rates"]);
  for (const auto& entry : root["seconds"]) {
    profile.algorithms.emplace(entry.first.as<std::string>(), read_rates<Profile::Seconds>(entry.second));
  }
  for (const auto& entry : root["corrections"]) {
    const auto algorithm = entry.first.as<std::string>();
    const auto names = correction_names_of(algorithm);
    if (names.empty()) continue;
    if (auto correction = read_correction(entry.second, names, taken)) {
      profile.corrections.emplace(algorithm, std::move(*correction));
    }
  }
  return profile;
}

/// The text of a file. Throws BadProfile with the system's reason where it cannot be read.
std::string content_of(const std::filesystem::path& file) {
  std::string text;
  std::array<char, 1 << 16> block{};
  std::ifstream stream(file, std::ios::binary);
  const bool open = stream.is_open();
  while (stream.read(block.data(), block.size()) || stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (!open || stream.bad())
    throw BadProfile{file.string(), "cannot be read: " + std::generic_category().message(errno)};
  return text;
}

std::string named(const std::string& device) { return device.empty() ? "none" : "'" + device + "'"; }

void check_machine(const Profile& profile, const std::string& source, const std::string& cpu, const std::string& gpu) {
  const auto refuse = [&](const char* kind, const std::string& theirs, const std::string& ours) {
    throw BadProfile{source, "the profile is of a machine with " + std::string(kind) + " " + named(theirs) +
                                 ", this one has " + named(ours) +
                                 "; make one for it with 'skyrank calibrate', or delete the file"};
  };
  if (profile.cpu != cpu) refuse("CPU", profile.cpu, cpu);
  if (!profile.gpu.empty() && !gpu.empty() && profile.gpu != gpu) refuse("GPU", profile.gpu, gpu);
}

}  // namespace

Profile parse_profile(std::string_view yaml, const std::string& source) {
  const SplitText text = split(yaml);
  try {
    const YAML::Node root = YAML::Load(text.yaml);
    if (!root.IsMap() || root["version"].as<int>(0) != kVersion) {
      throw BadProfile{
          source, "not a profile of version " + std::to_string(kVersion) + "; make a new one with 'skyrank calibrate'"};
    }
    return profile_of(root, text.points);
  } catch (const YAML::Exception& error) {
    throw BadProfile{source, text.in_whole(error).what()};
  }
}

std::string to_yaml(const Profile& profile) {
  YAML::Emitter out;
  out.SetDoublePrecision(4);
  out << YAML::BeginMap << YAML::Key << "version" << YAML::Value << kVersion;
  out << YAML::Key << "cpu" << YAML::Value << YAML::DoubleQuoted << profile.cpu;
  out << YAML::Key << "cores" << YAML::Value << profile.cores;
  out << YAML::Key << "gpu" << YAML::Value << YAML::DoubleQuoted << profile.gpu;
  out << YAML::Key << "rates" << YAML::Value;
  write_rates(out, profile.rates);
  out << YAML::Key << "seconds" << YAML::Value << YAML::BeginMap;
  for (const auto& [algorithm, seconds] : profile.algorithms) {
    out << YAML::Key << algorithm << YAML::Value;
    write_rates(out, seconds);
  }
  out << YAML::EndMap;
  out << YAML::Key << "corrections" << YAML::Value << YAML::BeginMap;
  for (const auto& [algorithm, correction] : profile.corrections) {
    out << YAML::Key << algorithm << YAML::Value;
    write_correction(out, correction, correction_names_of(algorithm));
  }
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

const Profile& built_in_profile() {
  static const Profile kProfile = parse_profile(built_in_text(), "the built-in profile");
  return kProfile;
}

std::optional<std::filesystem::path> profile_file() {
  const auto folder = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value == nullptr ? "" : value;
  };
  std::filesystem::path cache = folder("XDG_CACHE_HOME");
  if (!cache.is_absolute()) {  // the specification has relative ones ignored
    const std::filesystem::path home = folder("HOME");
    if (home.empty()) return std::nullopt;
    cache = home / ".cache";
  }
  return cache / "skyrank" / "profile.yaml";
}

std::optional<Profile> read_profile(const std::filesystem::path& file, const std::string& cpu, const std::string& gpu) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  const std::string text = content_of(file);
  if (text.empty()) throw BadProfile{file.string(), "the profile is empty; make a new one with 'skyrank calibrate'"};
  if (!text.ends_with('\n')) {
    throw BadProfile{file.string(), "the profile is cut short; make a new one with 'skyrank calibrate'"};
  }
  Profile profile = parse_profile(text, file.string());
  check_machine(profile, file.string(), cpu, gpu);
  return profile;
}

std::string cpu_name() {
  constexpr const char* kFile = "/proc/cpuinfo";
  std::ifstream file(kFile);
  const bool refused = !file.is_open() && errno != ENOENT;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  if (refused || file.bad()) throw BadProfile{kFile, "cannot be read: " + std::generic_category().message(errno)};
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "AArch64";
#else
  return "unknown CPU";
#endif
}

}  // namespace skyrank::planner
