// Files that are reached through Arrow's file systems: those of this machine stand for another's.
#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/localfs.h>
#include <arrow/util/config.h>
#include <arrow/util/uri.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "datasets/input/data_file.hpp"
#include "datasets/source.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

#if ARROW_VERSION_MAJOR >= 22
/// `elsewhere:///path` is a path of this machine.
arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> open_elsewhere(const arrow::util::Uri& uri,
                                                                     const arrow::io::IOContext& context,
                                                                     std::string* path) {
  if (path != nullptr) *path = uri.path();
  return std::make_shared<arrow::fs::LocalFileSystem>(context);
}

const arrow::fs::FileSystemRegistrar kElsewhere("elsewhere",
                                                arrow::fs::FileSystemFactory(open_elsewhere, __FILE__, __LINE__));

class RemoteFiles : public ::testing::Test {
 protected:
  std::string uri(const std::string& name) const { return "elsewhere://" + (folder_ / name).string(); }
  static TableSpec of(const std::string& name) {
    TableSpec source;
    source.name = "t";
    source.files = {name};
    source.location = {"batch.yaml", 3, 7};
    return source;
  }
  Table load(const std::string& name) const { return datasets::load(of(name), folder_.path()); }
  void write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    folder_.write(name, content);
  }
  TemporaryFolder folder_;
};

TEST_F(RemoteFiles, FilesPatternsAndFoldersAreRead) {
  write("t/city=%C3%85s/a b.csv", "a\n1\n");
  write("t/city=Oslo/b.csv", "a\n2\n");
  write("t/_SUCCESS", "");
  write("t/notes.txt", "x");
  write("one.jsonl", "{\"a\": 5}\n");
  EXPECT_THAT(values_of(load(uri("one.jsonl")), "a"), ElementsAre("5"));
  EXPECT_THAT(values_of(load(uri("one.jsonl?version=1")), "a"), ElementsAre("5"));
  const Table table = load(uri("t"));
  EXPECT_THAT(values_of(table, "a"), ElementsAre("1", "2"));
  EXPECT_THAT(values_of(table, "city"), ElementsAre("\xC3\x85s", "Oslo"));
  EXPECT_THAT(values_of(load(uri("t/*/b*.csv")), "a"), ElementsAre("2"));
}

TEST_F(RemoteFiles, WhatIsNotThereIsRefused) {
  write("empty/_x", "");
  write("t.csv", "a\n1\n");
  EXPECT_EQ(error_of<DataError>([&] { load(uri("none.csv")); }),
            "batch.yaml:3:7: there is no file '" + uri("none.csv") + "'");
  EXPECT_EQ(error_of<DataError>([&] { load(uri("*.jsonl")); }),
            "batch.yaml:3:7: no file matches '" + uri("*.jsonl") + "'");
  EXPECT_THAT(error_of<DataError>([&] { load(uri("empty")); }),
              AllOf(StartsWith("batch.yaml:3:7: the folder '" + uri("empty")), HasSubstr("holds no file")));
}

TEST_F(RemoteFiles, AFileThatChangesIsAnError) {
  write("t.csv.gz", "not gzip");
  EXPECT_THAT(error_of<DataError>([&] { load(uri("t.csv.gz")); }), HasSubstr("cannot be decompressed"));
  std::string text = "a\n";
  for (int i = 0; i < 1'000; ++i) text += std::to_string(i) + "\n";
  write("t.csv", text);
  DataFile file(uri("t.csv"), *make_pipe_cache(), {});
  EXPECT_EQ(file.size(), text.size());
  write("t.csv", "a\n");
  EXPECT_EQ(error_of<DataError>([&] { file.content(1); }),
            uri("t.csv") + ": changed while it was read; run again when no other program writes to it");
}
#endif

TEST(Remote, AFileSystemThatArrowLacksIsAnError) {
  TableSpec source;
  source.files = {"nowhere://host/t.csv"};
  EXPECT_THAT(error_of<DataError>([&] { load(source, "."); }),
              AllOf(StartsWith("'nowhere://host/t.csv' cannot be opened: "),
                    HasSubstr("what another program fetches can come through a pipe, with '-'")));
}

#ifdef ARROW_S3
/// Accepts connections, and never answers.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, any, size) != 0 || ::listen(socket_, 16) != 0 || ::getsockname(socket_, any, &size) != 0) {
      throw std::runtime_error("no socket");
    }
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { ::close(socket_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  std::string uri(const std::string& path) const {
    return "s3://key:secret@" + path + "?scheme=http&region=here&endpoint_override=127.0.0.1%3A" +
           std::to_string(port_);
  }

 private:
  int socket_;
  int port_ = 0;
};

TEST(SilentFiles, AStopEndsTheWaitForThem) {
  using std::chrono::steady_clock;
  const SilentServer server;
  for (const char* name : {"bucket/t.csv", "bucket/*.parquet", "bucket/folder/"}) {
    TableSpec table;
    table.name = "t";
    table.files = {server.uri(name)};
    std::stop_source stop;
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      stop.request_stop();
    });
    const auto start = steady_clock::now();
    LoadOptions options;
    options.stop = stop.get_token();
    EXPECT_THROW(load(table, {}, options), CancelledError);
    EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(5));
  }
}
#endif

}  // namespace
}  // namespace skyrank::datasets
