#include <tern/data/download.h>

#include <tern/core/error.h>

#include <array>
#include <fstream>
#include <memory>

#include <archive.h>
#include <archive_entry.h>

namespace tern::data {
namespace {

namespace fs = std::filesystem;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

std::string reason(archive* reader) {
  const char* text = archive_error_string(reader);
  return text ? text : "damaged";
}

fs::path checked_target(archive_entry* entry, const fs::path& packed, const fs::path& folder) {
  const char* name = archive_entry_pathname(entry);
  const fs::path path = name ? name : "";
  bool inside = !path.empty() && path.is_relative();
  for (const fs::path& part : path) inside = inside && part != "..";
  check_as<IoError>(inside, packed.string(), ": refused: an entry \"", path.string(),
                    "\" would lie outside the target folder");
  const auto type = archive_entry_filetype(entry);
  const bool plain = (type == AE_IFREG || type == AE_IFDIR) && !archive_entry_hardlink(entry);
  check_as<IoError>(plain, packed.string(), ": refused: the entry \"", path.string(),
                    "\" is neither a file nor a folder");
  return folder / path;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  check_as<IoError>(!error, folder.string(), ": cannot be made: ", error.message());
}

void write_file(archive* reader, const fs::path& packed, const fs::path& target) {
  make_folder(target.parent_path());
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const la_ssize_t got = archive_read_data(reader, buffer.data(), buffer.size());
    check_as<IoError>(got >= 0, packed.string(), ": ", reason(reader));
    if (got == 0) break;
    file.write(buffer.data(), got);
  }
  file.close();
  check_as<IoError>(file, target.string(), ": cannot be written");
}

}  // namespace

void extract(const fs::path& packed, const fs::path& folder) {
  const std::unique_ptr<archive, FreeArchive> reader(archive_read_new());
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_zip(reader.get());
  constexpr size_t block = 1 << 16;
  const int opened = archive_read_open_filename(reader.get(), packed.c_str(), block);
  check_as<IoError>(opened == ARCHIVE_OK, packed.string(), ": cannot be opened: ", reason(reader.get()));
  make_folder(folder);
  for (;;) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(reader.get(), &entry);
    if (code == ARCHIVE_EOF) break;
    check_as<IoError>(code == ARCHIVE_OK || code == ARCHIVE_WARN, packed.string(), ": ",
                      reason(reader.get()));
    const fs::path target = checked_target(entry, packed, folder);
    if (archive_entry_filetype(entry) == AE_IFDIR)
      make_folder(target);
    else
      write_file(reader.get(), packed, target);
  }
}

}  // namespace tern::data
