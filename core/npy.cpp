#include <tern/core/npy.h>

#include <tern/core/error.h>
#include <tern/core/npy_format.h>
#include <tern/core/tensor_values.h>

#include <algorithm>

namespace tern {
namespace {

std::string read_start(const FileReader& file, int64_t bytes) {
  std::string start(static_cast<size_t>(std::min(bytes, file.size())), '\0');
  file.read_at(start.data(), start.size(), 0);
  return start;
}

}  // namespace

void save_npy(const std::string& path, const Tensor& x) {
  const std::string header = npy_header_of(x, "save_npy");
  write_file_atomically(path, [&](FileWriter& file) {
    file.write(header);
    write_values(file, x);
  });
}

Tensor load_npy(const std::string& path) {
  const FileReader file(path);
  const NpyParser parser(path);
  const int64_t begin = parser.values_begin(read_start(file, NpyParser::start_bytes));
  parser.require(begin <= file.size(), "the header ends at ", begin, " by its own account, the file at ",
                 file.size());
  const NpyHeader header = parser.header(read_start(file, begin));
  parser.require(header.bytes == file.size() - begin, "shape ", header.shape, " of ", header.dtype, " needs ",
                 header.bytes, " bytes, ", file.size() - begin, " follow the header");
  return parser.array(header,
                      [&](void* memory) { file.read_at(memory, static_cast<size_t>(header.bytes), begin); });
}

}  // namespace tern
