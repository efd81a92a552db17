#include <tern/data/download.h>

#include <tern/core/error.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <curl/curl.h>
#include <openssl/evp.h>
#include <unistd.h>

namespace tern::data {
namespace {

namespace fs = std::filesystem;

// A file or folder of our own until it is complete; removed unless moved into place.
class Unfinished {
 public:
  explicit Unfinished(const fs::path& final_path)
      : path(final_path.string() + ".part-" + std::to_string(getpid())) {
    remove();
  }
  ~Unfinished() { remove(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const fs::path path;

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

class Md5 {
 public:
  Md5() : context_(EVP_MD_CTX_new()) {
    check(EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr) == 1, "download: OpenSSL offers no MD5");
  }
  void add(const char* data, size_t bytes) { EVP_DigestUpdate(context_.get(), data, bytes); }
  std::string digits() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &length);
    std::string text;
    for (unsigned i = 0; i < length; ++i) {
      text += "0123456789abcdef"[digest[i] >> 4];
      text += "0123456789abcdef"[digest[i] & 15];
    }
    return text;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

struct FreeCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// What the callbacks of one transfer work on.
struct Transfer {
  std::unique_ptr<std::FILE, CloseFile> file;
  Md5 md5;
  int write_error = 0;
  std::function<void(int64_t, int64_t)> progress;
  std::exception_ptr thrown;  // by `progress`: nothing may fly through C code
};

size_t write_data(char* data, size_t, size_t bytes, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (std::fwrite(data, 1, bytes, transfer.file.get()) != bytes) {
    transfer.write_error = errno;
    return 0;
  }
  transfer.md5.add(data, bytes);
  return bytes;
}

int report_progress(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    if (transfer.progress) transfer.progress(done, total);
    return 0;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 1;
  }
}

void set_options(CURL* curl, const std::string& url, const DownloadOptions& options, Transfer& transfer) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout * 1000));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout + 0.999));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_data);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, report_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
}

std::string fetch(const std::string& url, const fs::path& path, const DownloadOptions& options) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, FreeCurl> curl(ready == CURLE_OK ? curl_easy_init() : nullptr);
  check_as<IoError>(curl, "download: libcurl does not start");
  Transfer transfer;
  transfer.progress = options.progress;
  transfer.file.reset(std::fopen(path.c_str(), "wb"));
  check_as<IoError>(transfer.file, path.string(),
                    ": cannot be written: ", std::generic_category().message(errno));
  set_options(curl.get(), url, options, transfer);
  std::array<char, CURL_ERROR_SIZE> details{};
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, details.data());
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  const bool flushed = std::fflush(transfer.file.get()) == 0;
  if (!flushed && !transfer.write_error) transfer.write_error = errno;
  check_as<IoError>(!transfer.write_error, path.string(),
                    ": cannot be written: ", std::generic_category().message(transfer.write_error));
  check_as<IoError>(code == CURLE_OK, "download: cannot get ", url, ": ",
                    details[0] ? details.data() : curl_easy_strerror(code));
  return transfer.md5.digits();
}

void move_into_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  check_as<IoError>(!error, to.string(), ": cannot be made: ", error.message());
}

}  // namespace

void download(const RemoteFile& file, const fs::path& path, const DownloadOptions& options) {
  const Unfinished part(path);
  const std::string md5 = fetch(file.url, part.path, options);
  check_as<IoError>(md5 == file.md5, "download: ", file.url,
                    " has changed or was damaged on the way: expected MD5 ", file.md5, ", got ", md5);
  move_into_place(part.path, path);
}

RemoteFile cifar10_archive() {
  return {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"};
}

void download_cifar10(const fs::path& folder, const DownloadOptions& options, const RemoteFile& archive) {
  const fs::path result = folder / "cifar-10-batches-bin";
  if (fs::exists(result)) return;
  std::error_code error;
  fs::create_directories(folder, error);
  check_as<IoError>(!error, folder.string(), ": cannot be made: ", error.message());
  const Unfinished work(result);
  fs::create_directories(work.path, error);
  check_as<IoError>(!error, work.path.string(), ": cannot be made: ", error.message());
  const fs::path packed = work.path / "archive";
  try {
    download(archive, packed, options);
  } catch (const IoError& failure) {
    std::throw_with_nested(IoError(std::string(failure.what()) + "\nWithout it: get " + archive.url +
                                   " on another machine and unpack it in " + folder.string() +
                                   ", or name a folder that holds data_batch_1.bin and test_batch.bin"));
  }
  extract(packed, work.path / "unpacked");
  const fs::path inner = work.path / "unpacked" / result.filename();
  check_as<IoError>(fs::is_directory(inner), archive.url, ": expected the folder ",
                    result.filename().string(), " in the archive");
  fs::rename(inner, result, error);
  // Another process may have been faster; what it has put there is the same.
  check_as<IoError>(!error || fs::exists(result), result.string(), ": cannot be made: ", error.message());
}

}  // namespace tern::data
