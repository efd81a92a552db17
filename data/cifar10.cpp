#include <tern/data/cifar10.h>

#include <tern/data/input_file.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace tern::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t image_bytes = 3 * 32 * 32, record_bytes = 1 + image_bytes, most_records = 10000;
constexpr int64_t class_count = 10, training_files = 5;
constexpr int64_t records_at_once = 256;

fs::path training_file(const fs::path& folder, int64_t number) {
  return folder / ("data_batch_" + std::to_string(number) + ".bin");
}

fs::path find_folder(const fs::path& folder, const fs::path& wanted) {
  for (const fs::path& candidate : {folder, folder / "cifar-10-batches-bin"}) {
    if (fs::exists(candidate / wanted)) return candidate;
  }
  tern::detail::raise<IoError>(false, "cifar10: neither ", folder.string(),
                               " nor cifar-10-batches-bin in it holds ", wanted.string());
}

std::vector<fs::path> training_paths(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (int64_t i = 1; i <= training_files; ++i) {
    const fs::path path = training_file(folder, i);
    if (!fs::exists(path)) continue;
    check_as<IoError>(static_cast<int64_t>(paths.size()) == i - 1, "cifar10: ", path.string(),
                      " is there, but ", training_file(folder, i - 1).filename().string(), " is missing");
    paths.push_back(path);
  }
  return paths;
}

int64_t records_in(const InputFile& file) {
  const int64_t bytes = file.bytes_on_disk();
  check_as<IoError>(bytes > 0 && bytes % record_bytes == 0 && bytes / record_bytes <= most_records,
                    file.path().string(), ": expected 1 to ", most_records, " images of ", record_bytes,
                    " bytes each, got ", bytes, " bytes");
  return bytes / record_bytes;
}

void read_records(InputFile& file, int64_t count, uint8_t* images, int64_t* labels) {
  std::vector<uint8_t> buffer(static_cast<size_t>(records_at_once * record_bytes));
  for (int64_t done = 0; done < count; done += records_at_once) {
    const int64_t records = std::min(records_at_once, count - done);
    const int64_t got = file.read(buffer.data(), records * record_bytes);
    check_as<IoError>(got == records * record_bytes, file.path().string(), ": expected ", count,
                      " images, the file ended after ", done + got / record_bytes);
    for (int64_t i = 0; i < records; ++i) {
      const uint8_t* record = buffer.data() + i * record_bytes;
      check_as<IoError>(record[0] < class_count, file.path().string(), ": image ", done + i,
                        ": expected a label from 0 to 9, got ", int{record[0]});
      labels[done + i] = record[0];
      std::memcpy(images + (done + i) * image_bytes, record + 1, image_bytes);
    }
  }
}

std::vector<std::string> read_classes(const fs::path& folder) {
  const fs::path path = folder / "batches.meta.txt";
  if (!fs::exists(path)) {
    return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  }
  std::ifstream file(path);
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  check_as<IoError>(names.size() == class_count, path.string(), ": expected ", class_count,
                    " class names, a line each, got ", names.size());
  return names;
}

}  // namespace

ImageDataset cifar10(const fs::path& folder, const ImageOptions& options) {
  const fs::path place = find_folder(folder, options.train ? "data_batch_1.bin" : "test_batch.bin");
  std::vector<InputFile> files;
  for (const fs::path& path : options.train ? training_paths(place) : std::vector{place / "test_batch.bin"}) {
    files.emplace_back(path);
  }
  int64_t count = 0;
  for (const InputFile& file : files) count += records_in(file);
  Tensor images = empty({count, 3, 32, 32}, uint8), labels = empty({count}, int64);
  int64_t done = 0;
  for (InputFile& file : files) {
    const int64_t records = records_in(file);
    read_records(file, records, images.data<uint8_t>() + done * image_bytes, labels.data<int64_t>() + done);
    done += records;
  }
  return {std::move(images), std::move(labels), options.transform, read_classes(place)};
}

}  // namespace tern::data
