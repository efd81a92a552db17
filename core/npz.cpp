#include <tern/core/npz.h>

#include <tern/core/error.h>
#include <tern/core/npy_format.h>
#include <tern/core/tensor_values.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include <archive.h>
#include <archive_entry.h>

namespace tern {
namespace {

constexpr std::string_view extension = ".npy";

struct Free {
  void operator()(archive* reader) const { archive_free(reader); }
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

std::string reason(archive* file) {
  const char* text = archive_error_string(file);
  return text ? text : "damaged";
}

// libarchive's writer over a FileWriter, whose exceptions must not pass through C.
class ZipWriter {
 public:
  ZipWriter(FileWriter& file, const std::string& path, bool compressed)
      : file_(file), path_(path), zip_(archive_write_new()) {
    require(archive_write_set_format_zip(zip_.get()));
    require(compressed ? archive_write_zip_set_compression_deflate(zip_.get())
                       : archive_write_zip_set_compression_store(zip_.get()));
    require(archive_write_set_bytes_per_block(zip_.get(), 0));
    require(archive_write_open2(zip_.get(), this, nullptr, &ZipWriter::write_bytes, nullptr, nullptr));
  }

  void add(const std::string& name, const Tensor& x) {
    const std::string header = npy_header_of(x, "save_npz: \"" + name + "\"");
    const std::unique_ptr<archive_entry, Free> entry(archive_entry_new2(zip_.get()));
    archive_entry_set_pathname_utf8(entry.get(), (name + std::string(extension)).c_str());
    archive_entry_set_size(entry.get(), static_cast<int64_t>(header.size()) + bytes_of(x));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0600);
    require(archive_write_header(zip_.get(), entry.get()));
    put(header.data(), header.size());
    each_value(x, [this](const void* data, size_t bytes) { put(data, bytes); });
    require(archive_write_finish_entry(zip_.get()));
  }

  void close() { require(archive_write_close(zip_.get())); }

 private:
  static la_ssize_t write_bytes(archive*, void* self, const void* data, size_t bytes) {
    auto& writer = *static_cast<ZipWriter*>(self);
    try {
      writer.file_.write(data, bytes);
      return static_cast<la_ssize_t>(bytes);
    } catch (...) {
      writer.failure_ = std::current_exception();
      return -1;
    }
  }
  void put(const void* data, size_t bytes) {
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const la_ssize_t count = archive_write_data(zip_.get(), from, bytes);
      require(count > 0 ? ARCHIVE_OK : ARCHIVE_FATAL);
      from += count;
      bytes -= static_cast<size_t>(count);
    }
  }
  void require(int result) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    check_as<IoError>(result == ARCHIVE_OK, "cannot write \"", path_, "\": ", reason(zip_.get()));
  }

  FileWriter& file_;
  const std::string& path_;
  std::exception_ptr failure_;
  std::unique_ptr<archive, Free> zip_;  // last: freeing it may write
};

class ZipReader {
 public:
  explicit ZipReader(const std::string& path) : path_(path), zip_(archive_read_new()) {
    archive_read_support_format_zip(zip_.get());
    require(archive_read_open_filename(zip_.get(), path.c_str(), size_t{1} << 16) == ARCHIVE_OK,
            reason(zip_.get()));
  }

  // The next file's name without its extension; false at the end.
  bool next(std::string& name) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(zip_.get(), &entry);
    if (result == ARCHIVE_EOF) return false;
    require(result == ARCHIVE_OK, reason(zip_.get()));
    const char* text = archive_entry_pathname_utf8(entry);
    if (!text) text = archive_entry_pathname(entry);
    name = text ? text : "";
    require(name.size() > extension.size() && name.ends_with(extension), "it holds \"", name,
            "\", which is no .npy file");
    name.resize(name.size() - extension.size());
    return true;
  }

  Tensor array(const std::string& name) {
    const NpyParser parser(path_ + "\", array \"" + name);
    std::string bytes;
    grow(bytes, NpyParser::start_bytes);
    const int64_t begin = parser.values_begin(bytes);
    parser.require(grow(bytes, begin), "the header ends at ", begin, " by its own account, the file at ",
                   bytes.size());
    const NpyHeader header = parser.header(bytes);
    bytes.clear();
    const bool whole = grow(bytes, header.bytes);
    const size_t got = bytes.size();
    parser.require(whole && !grow(bytes, header.bytes + 1), "shape ", header.shape, " of ", header.dtype,
                   " needs ", header.bytes, " bytes, ", whole ? "more" : std::to_string(got),
                   " follow the header");
    return parser.array(header, [&](void* memory) {
      if (header.bytes > 0) std::memcpy(memory, bytes.data(), static_cast<size_t>(header.bytes));
    });
  }

  template <class... Parts>
  void require(bool condition, const Parts&... message) const {
    check_as<IoError>(condition, "cannot read \"", path_, "\" as .npz: ", message...);
  }

 private:
  // Reads on until there are `wanted` bytes; false when the file ends before. Takes memory as bytes come.
  bool grow(std::string& bytes, int64_t wanted) {
    constexpr size_t first_piece = size_t{1} << 20;
    const auto end = static_cast<size_t>(wanted);
    while (bytes.size() < end) {
      const size_t done = bytes.size(), piece = std::min(end - done, std::max(first_piece, done));
      bytes.resize(done + piece);
      const size_t got = read(bytes.data() + done, piece);
      bytes.resize(done + got);
      if (got < piece) return false;
    }
    return true;
  }
  size_t read(char* target, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
      const la_ssize_t count = archive_read_data(zip_.get(), target + done, bytes - done);
      require(count >= 0, reason(zip_.get()));
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return done;
  }

  const std::string& path_;
  std::unique_ptr<archive, Free> zip_;
};

}  // namespace

void save_npz(const std::string& path, const TensorMap& tensors, const SaveNpzOptions& options) {
  for (const auto& [name, x] : tensors)
    check(!name.empty() && name.find('\0') == std::string::npos, "save_npz: \"", name, "\" cannot be a name");
  write_file_atomically(path, [&](FileWriter& file) {
    ZipWriter zip(file, path, options.compressed);
    for (const auto& [name, x] : tensors) zip.add(name, x);
    zip.close();
  });
}

TensorMap load_npz(const std::string& path) {
  const FileReader regular(path);  // nothing but a regular file is read
  ZipReader zip(path);
  TensorMap tensors;
  for (std::string name; zip.next(name);) {
    zip.require(!tensors.contains(name), "it holds \"", name, "\" twice");
    tensors.emplace(name, zip.array(name));
  }
  return tensors;
}

}  // namespace tern
