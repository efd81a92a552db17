#include <tern/data/input_file.h>

#include <tern/core/error.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <zlib.h>

namespace tern::data {
namespace {

constexpr int64_t most_at_once = int64_t{1} << 30;  // zlib counts in 32 bits

gzFile handle(void* file) { return static_cast<gzFile>(file); }

}  // namespace

void InputFile::Close::operator()(void* file) const { gzclose(handle(file)); }

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  check_as<IoError>(std::filesystem::exists(status), path.string(), ": there is no such file");
  check_as<IoError>(
      std::filesystem::is_regular_file(status), path.string(),
      std::filesystem::is_directory(status) ? ": is a directory, not a file" : ": is no regular file");
  bytes_ = static_cast<int64_t>(std::filesystem::file_size(path, error));
  check_as<IoError>(!error, path.string(), ": ", error.message());
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));
  check_as<IoError>(file_, path.string(), ": cannot be opened: ", std::generic_category().message(errno));
  gzbuffer(handle(file_.get()), 1U << 18);
}

int64_t InputFile::read(void* target, int64_t bytes) {
  int64_t done = 0;
  while (done < bytes) {
    errno = 0;
    const auto wanted = static_cast<unsigned>(std::min(bytes - done, most_at_once));
    const int got = gzread(handle(file_.get()), static_cast<char*>(target) + done, wanted);
    int code = Z_OK;
    const char* text = gzerror(handle(file_.get()), &code);
    check_as<IoError>(code != Z_BUF_ERROR, path_.string(), ": the compressed data ends early");
    check_as<IoError>(got >= 0, path_.string(), ": cannot be read: ",
                      code == Z_ERRNO ? std::generic_category().message(errno) : std::string(text));
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace tern::data
