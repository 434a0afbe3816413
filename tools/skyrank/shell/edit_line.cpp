#include "tools/skyrank/shell/edit_line.hpp"

#include <utility>

#ifdef SKYRANK_HAS_LIBEDIT
#include <histedit.h>
#include <sys/stat.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <exception>
#include <filesystem>

#include "engine/text.hpp"
#include "tools/skyrank/shell/input.hpp"
#endif

namespace skyrank::tools {

#ifdef SKYRANK_HAS_LIBEDIT

namespace {

constexpr int kHistorySize = 1000;

/// Returns the file of the history: $SKYRANK_HISTORY, or one of the user's folder of states; empty without any.
std::filesystem::path history_file() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (std::getenv("SKYRANK_HISTORY") != nullptr) return variable("SKYRANK_HISTORY");
  if (const auto states = variable("XDG_STATE_HOME"); states.is_absolute()) return states / "skyrank" / "history";
  const auto home = variable("HOME");
  return home.is_absolute() ? home / ".local" / "state" / "skyrank" / "history" : std::filesystem::path();
}

/// Returns the beginning that all words have, ignoring the case of letters of ASCII; as the first word has it.
std::string common_beginning(const std::vector<std::string>& words) {
  std::string common = words.front();
  for (const std::string& word : words) {
    std::size_t same = 0;
    while (same < std::min(common.size(), word.size()) &&
           query::equal_ignoring_case(common.substr(same, 1), word.substr(same, 1))) {
      ++same;
    }
    common.resize(same);
  }
  return common;
}

class EditLineEditor final : public LineEditor {
 public:
  EditLineEditor(const Signals& signals, Complete complete) : input_(signals), complete_(std::move(complete)) {
    std::setlocale(LC_CTYPE, "");  // libedit reads and shows characters by it
    history_ = history_init();
    edit_ = el_init("skyrank", stdin, stdout, stderr);
    if (history_ == nullptr || edit_ == nullptr) return;
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistorySize);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_SIGNAL, 0);  // Signals takes them
    el_set(edit_, EL_PROMPT, &show_prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_GETCFN, &read_character);
    el_set(edit_, EL_ADDFN, "skyrank-complete", "Completes a name", &complete_word);
    el_set(edit_, EL_BIND, "^I", "skyrank-complete", nullptr);
    // The end of input that is typed while a query runs comes as NUL: the terminal took it, as no line was being
    // edited.
    el_set(edit_, EL_BIND, "^@", "em-delete-or-list", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(edit_, nullptr);  // ~/.editrc
    file_ = history_file();
    if (!file_.empty()) history(history_, &event, H_LOAD, file_.c_str());
  }

  ~EditLineEditor() override {
    if (edit_ != nullptr) el_end(edit_);
    if (history_ != nullptr) history_end(history_);
  }

  bool is_usable() const { return edit_ != nullptr && history_ != nullptr; }

  LineRead read(const std::string& prompt) override {
    prompt_ = prompt;
    interrupted_ = ended_ = false;
    int count = 0;
    const char* const text = el_gets(edit_, &count);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (interrupted_ || ended_) {
      std::fputs("\n", stdout);
      std::fflush(stdout);
    }
    if (interrupted_) return {LineRead::Kind::interrupted};
    if (ended_ || text == nullptr || count <= 0) return {};
    std::string line(text, static_cast<std::size_t>(count));
    while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
    return {LineRead::Kind::line, std::move(line)};
  }

  void remember(const std::string& text) override {
    HistEvent event;
    history(history_, &event, H_ENTER, text.c_str());
    if (file_.empty()) return;
    // A history that cannot be kept is no reason to stop.
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    const mode_t before = ::umask(S_IRWXG | S_IRWXO);
    history(history_, &event, H_SAVE, file_.c_str());
    ::umask(before);
  }

 private:
  static EditLineEditor& of(EditLine* edit) {
    void* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return *static_cast<EditLineEditor*>(self);
  }

  static char* show_prompt(EditLine* edit) { return of(edit).prompt_.data(); }

  static int read_character(EditLine* edit, wchar_t* character) { return of(edit).next_character(*character); }

  /// Returns 1 for a character, 0 where there is none: at the end, or after a signal.
  int next_character(wchar_t& character) {
    try {
      std::mbstate_t state{};
      for (;;) {
        char byte = 0;
        const InputRead::Kind kind = input_.read({&byte, 1}).kind;
        interrupted_ = kind == InputRead::Kind::interrupted;
        ended_ = kind == InputRead::Kind::end;
        if (interrupted_ || ended_) return 0;
        const std::size_t length = std::mbrtowc(&character, &byte, 1, &state);
        if (length == static_cast<std::size_t>(-2)) continue;  // of several bytes
        if (length == static_cast<std::size_t>(-1)) character = L'?';
        return 1;
      }
    } catch (...) {
      failure_ = std::current_exception();  // not through the C library
      return 0;
    }
  }

  static unsigned char complete_word(EditLine* edit, int /*key*/) {
    EditLineEditor& self = of(edit);
    try {
      return self.complete_line();
    } catch (...) {
      return CC_ERROR;  // a completion that fails changes nothing
    }
  }

  unsigned char complete_line() {
    const LineInfo* const line = el_line(edit_);
    const std::string before(line->buffer, line->cursor);
    const std::string word = before.substr(begin_of_word(before));
    const std::vector<std::string> words = complete_(before);
    if (words.empty()) return CC_ERROR;
    std::string completed = common_beginning(words);
    if (words.size() > 1 && completed.size() <= word.size()) {
      show(words);
      return CC_REDISPLAY;
    }
    if (words.size() == 1 && line->cursor == line->lastchar) completed += ' ';
    el_deletestr(edit_, static_cast<int>(word.size()));
    el_insertstr(edit_, completed.c_str());
    return CC_REFRESH;
  }

  static void show(const std::vector<std::string>& words) {
    constexpr std::size_t kMaxShown = 100;
    std::fputs("\n", stdout);
    for (std::size_t i = 0; i < std::min(words.size(), kMaxShown); ++i) std::fprintf(stdout, "%s  ", words[i].c_str());
    std::fputs(words.size() > kMaxShown ? "...\n" : "\n", stdout);
    std::fflush(stdout);
  }

  const Input input_;
  Complete complete_;
  History* history_ = nullptr;
  EditLine* edit_ = nullptr;
  std::filesystem::path file_;
  std::string prompt_;
  bool interrupted_ = false;
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<LineEditor> make_edit_line(const Signals& signals, Complete complete) {
  auto editor = std::make_unique<EditLineEditor>(signals, std::move(complete));
  if (!editor->is_usable()) return nullptr;
  return editor;
}

#else

std::unique_ptr<LineEditor> make_edit_line(const Signals& /*signals*/, Complete /*complete*/) { return nullptr; }

#endif

}  // namespace skyrank::tools
