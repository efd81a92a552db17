#include <tern/data/mnist.h>

#include <tern/data/input_file.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tern::data {
namespace {

namespace fs = std::filesystem;

constexpr uint8_t type_of_bytes = 0x08;
constexpr int64_t first_piece = int64_t{1} << 20;

int64_t read_size(InputFile& file) {
  std::array<uint8_t, 4> bytes{};
  check_as<IoError>(file.read(bytes.data(), 4) == 4, file.path().string(), ": the header is cut off");
  return int64_t{bytes[0]} << 24 | int64_t{bytes[1]} << 16 | int64_t{bytes[2]} << 8 | bytes[3];
}

// Two zero bytes, the type, the number of dimensions; then each size, big-endian.
Shape read_header(InputFile& file) {
  const int64_t magic = read_size(file);
  const int64_t dims = magic & 0xff;
  check_as<IoError>(magic >> 8 == type_of_bytes && dims >= 1 && dims <= max_dims, file.path().string(),
                    ": is no IDX file of bytes: it begins with ", magic, ", expected ", type_of_bytes * 256,
                    " + the number of dimensions, 1 to ", max_dims);
  Shape shape;
  for (int64_t i = 0; i < dims; ++i) shape.push_back(read_size(file));
  return shape;
}

// Strides are products too, so that empty arrays must have sizes of this world as well.
int64_t count_elements(const Shape& shape, const InputFile& file) {
  int64_t product = 1;
  for (const int64_t size : shape) {
    check_as<IoError>(!__builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product),
                      file.path().string(), ": the header's sizes ", shape, " are beyond any file");
  }
  return shape.numel();
}

// Doubles what it holds as long as bytes keep coming.
std::vector<uint8_t> read_bytes(InputFile& file, int64_t count, const Shape& shape) {
  std::vector<uint8_t> bytes;
  int64_t done = 0;
  while (done < count) {
    const int64_t piece = std::min(count - done, std::max(first_piece, done));
    bytes.resize(static_cast<size_t>(done + piece));
    const int64_t got = file.read(bytes.data() + done, piece);
    done += got;
    check_as<IoError>(got == piece, file.path().string(), ": expected ", count, " bytes for ", shape,
                      " after the header, got ", done);
  }
  uint8_t more = 0;
  check_as<IoError>(file.read(&more, 1) == 0, file.path().string(), ": expected ", count, " bytes for ",
                    shape, " after the header, got more");
  return bytes;
}

fs::path find_file(const fs::path& folder, const std::string& name) {
  for (const fs::path& path : {folder / name, folder / (name + ".gz")}) {
    if (fs::exists(path)) return path;
  }
  tern::detail::raise<IoError>(false, "mnist: ", folder.string(), " holds neither ", name, " nor ", name,
                               ".gz");
}

Tensor read_idx_of(const fs::path& path, int64_t dims) {
  Tensor array = read_idx(path);
  check_as<IoError>(array.dim() == dims, path.string(), ": expected ", dims, " dimensions, got ",
                    array.shape());
  return array;
}

Tensor to_labels(const Tensor& bytes, const fs::path& path) {
  Tensor labels = empty(bytes.shape(), int64);
  const uint8_t* from = bytes.data<uint8_t>();
  for (int64_t i = 0; i < bytes.numel(); ++i) {
    check_as<IoError>(from[i] <= 9, path.string(), ": label ", i, ": expected 0 to 9, got ", int{from[i]});
    labels.data<int64_t>()[i] = from[i];
  }
  return labels;
}

}  // namespace

Tensor read_idx(const fs::path& path) {
  InputFile file(path);
  const Shape shape = read_header(file);
  const std::vector<uint8_t> bytes = read_bytes(file, count_elements(shape, file), shape);
  Tensor array = empty(shape, uint8);
  if (!bytes.empty()) std::memcpy(array.data(), bytes.data(), bytes.size());
  return array;
}

ImageDataset mnist(const fs::path& folder, const ImageOptions& options) {
  const std::string part = options.train ? "train" : "t10k";
  const fs::path image_path = find_file(folder, part + "-images-idx3-ubyte");
  const fs::path label_path = find_file(folder, part + "-labels-idx1-ubyte");
  const Tensor images = read_idx_of(image_path, 3), labels = read_idx_of(label_path, 1);
  check_as<IoError>(images.shape()[0] == labels.shape()[0], image_path.string(), " holds ", images.shape()[0],
                    " images, but ", label_path.string(), " ", labels.shape()[0], " labels");
  Shape shape = images.shape();
  shape.insert(1, 1);
  return {images.with_layout(Layout(shape)), to_labels(labels, label_path), options.transform};
}

}  // namespace tern::data
