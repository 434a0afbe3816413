#include "planner/profile.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace skyrank::planner {
namespace {

constexpr int kVersion = 3;

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

/// Refuses documents of many levels before a tree is made of them, which takes recursion.
class Levels : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnSequenceEnd() override { --open_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnMapEnd() override { --open_; }

 private:
  static constexpr int kMax = 100;

  void enter(const YAML::Mark& mark) {
    if (++open_ <= kMax) return;
    throw YAML::RepresentationException(mark,
                                        "the profile is nested more than " + std::to_string(kMax) + " levels deep");
  }

  int open_ = 0;
};

void check_levels(const std::string& yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  Levels levels;
  parser.HandleNextDocument(levels);  // only the first document is a profile, and others may be without end
}

Profile profile_of(const YAML::Node& root) {
  Profile profile;
  profile.cpu = root["cpu"].as<std::string>("");
  profile.cores = root["cores"].as<int>(0);
  profile.gpu = root["gpu"].as<std::string>("");
  if (root["rates"]) profile.rates = read_rates<decltype(profile.rates)>(root["rates"]);
  for (const auto& entry : root["seconds"]) {
    profile.algorithms.emplace(entry.first.as<std::string>(), read_rates<Profile::Seconds>(entry.second));
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

Profile parse_checked(const std::string& yaml, const std::string& source, bool is_ours) {
  try {
    if (!is_ours) check_levels(yaml);
    const YAML::Node root = YAML::Load(yaml);
    if (!root.IsMap() || root["version"].as<int>(0) != kVersion) {
      throw BadProfile{
          source, "not a profile of version " + std::to_string(kVersion) + "; make a new one with 'skyrank calibrate'"};
    }
    return profile_of(root);
  } catch (const YAML::Exception& error) {
    throw BadProfile{source, error.what()};
  }
}

}  // namespace

Profile parse_profile(std::string_view yaml, const std::string& source) {
  return parse_checked(std::string(yaml), source, /*is_ours=*/false);
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
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

const Profile& built_in_profile() {
  static const Profile kProfile = parse_checked(built_in_text(), "the built-in profile", /*is_ours=*/true);
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
