#include <tern/core/npy.h>

#include <tern/core/error.h>
#include <tern/core/tensor_values.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tern {
namespace {

using nlohmann::json;

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr int64_t most_header = 1 << 20;

struct TypeName {
  const char* text;
  DType dtype;
};
constexpr TypeName type_names[] = {{"<f4", float32}, {"<f8", float64}, {"<f2", float16}, {"<i8", int64},
                                   {"<i4", int32},   {"|u1", uint8},   {"|b1", boolean}};

// What is before the values.
struct Header {
  DType dtype = float32;
  bool fortran_order = false;
  Shape shape;
  int64_t values = 0;  // where they begin
};

class HeaderReader {
 public:
  explicit HeaderReader(const FileReader& file) : file_(file) {}

  Header read() const {
    const auto [begin, length] = place();
    std::string text(static_cast<size_t>(length), '\0');
    file_.read_at(text.data(), text.size(), begin);
    const json fields = parse(text);
    require(fields.is_object() && fields.size() == 3 && fields.contains("descr") &&
                fields.contains("fortran_order") && fields.contains("shape"),
            "expected a header with descr, fortran_order and shape, got ", text);
    require(fields["fortran_order"].is_boolean(), "fortran_order must be True or False, got ", text);
    const Header header{dtype(fields["descr"]), fields["fortran_order"].get<bool>(), shape(fields["shape"]),
                        begin + length};
    check_size(header);
    return header;
  }

  template <class... Parts>
  void require(bool condition, const Parts&... message) const {
    check_as<IoError>(condition, "cannot read \"", file_.path(), "\" as .npy: ", message...);
  }

 private:
  struct Place {
    int64_t begin, length;
  };

  Place place() const {
    unsigned char start[12] = {};
    require(file_.size() >= 12, "expected at least 12 bytes, got ", file_.size());
    file_.read_at(start, sizeof(start), 0);
    require(std::equal(magic.begin(), magic.end(), start,
                       [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; }),
            "it does not begin with the mark of the format");
    const int version = start[6];
    require(version >= 1 && version <= 3 && start[7] == 0,
            "the format's version must be 1.0, 2.0 or 3.0, got ", version, ".", int{start[7]});
    const int64_t begin = version == 1 ? 10 : 12;
    int64_t length = start[8] | start[9] << 8;
    if (version > 1) length |= int64_t{start[10]} << 16 | int64_t{start[11]} << 24;
    const int64_t most = std::min(most_header, file_.size() - begin);
    require(length <= most, "the header has ", length, " bytes by its own account, at most ", most,
            " are possible in a file of ", file_.size());
    return {begin, length};
  }

  // A Python literal. Those of arrays that can be read here differ from JSON only in these signs.
  json parse(std::string text) const {
    const std::string original = text;
    const auto replace = [&text](std::string_view from, std::string_view to) {
      for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
        text.replace(at, from.size(), to);
    };
    require(text.find('"') == text.npos && text.find('\0') == text.npos, "the header is not one of an array");
    for (const auto& [from, to] : {std::pair{"'", "\""},
                                   {"(", "["},
                                   {")", "]"},
                                   {"False", "false"},
                                   {"True", "true"},
                                   {", }", "}"},
                                   {",}", "}"},
                                   {",]", "]"}})
      replace(from, to);
    const json fields = json::parse(text, nullptr, false);
    require(!fields.is_discarded(), "the header is not one of an array: ", original);
    return fields;
  }

  DType dtype(const json& descr) const {
    const auto* found = std::find_if(std::begin(type_names), std::end(type_names),
                                     [&](const TypeName& known) { return descr == known.text; });
    require(found != std::end(type_names), "the elements must be <f4, <f8, <f2, <i8, <i4, |u1 or |b1, got ",
            descr.dump());
    return found->dtype;
  }

  Shape shape(const json& list) const {
    std::vector<int64_t> sizes;
    bool good = list.is_array() && list.size() <= max_dims;
    for (const json& size : list) {
      good = good && size.is_number_unsigned() && size.get<uint64_t>() <= INT64_MAX;
      if (good) sizes.push_back(size.get<int64_t>());
    }
    require(good, "the shape must be a list of at most ", max_dims, " sizes from 0 to 2^63 - 1, got ",
            list.dump());
    return Shape(sizes);
  }

  void check_size(const Header& header) const {
    auto bytes = static_cast<int64_t>(size_of(header.dtype));
    bool overflow = false;
    for (const int64_t size : header.shape) overflow |= __builtin_mul_overflow(bytes, size, &bytes);
    require(!overflow, "shape ", header.shape, " is too large");
    require(bytes == file_.size() - header.values, "shape ", header.shape, " of ", header.dtype, " needs ",
            bytes, " bytes, ", file_.size() - header.values, " follow the header");
  }

  const FileReader& file_;
};

std::string header_of(const Tensor& x) {
  const auto* type = std::find_if(std::begin(type_names), std::end(type_names),
                                  [&](const TypeName& known) { return known.dtype == x.dtype(); });
  check(type != std::end(type_names), "save_npy: NumPy has no ", x.dtype());
  const std::string fields = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                         type->text, fmt::join(x.shape(), ", "), x.dim() == 1 ? "," : "");
  // Values begin at a multiple of 64; the line ends the header.
  const size_t before = magic.size() + 4, used = before + fields.size() + 1;
  return fields + std::string((64 - used % 64) % 64, ' ') + "\n";
}

}  // namespace

void save_npy(const std::string& path, const Tensor& x) {
  check(x.defined(), "save_npy: the tensor is undefined");
  check(x.device().is_cpu(), "save_npy: the tensor must be on the CPU, it is on ", x.device());
  const std::string header = header_of(x);
  write_file_atomically(path, [&](FileWriter& file) {
    const auto length = static_cast<uint16_t>(header.size());
    file.write(magic);
    file.write(std::string_view("\x01\x00", 2));
    file.write(&length, sizeof(length));
    file.write(header);
    write_values(file, x);
  });
}

Tensor load_npy(const std::string& path) {
  const FileReader file(path);
  const HeaderReader reader(file);
  const Header header = reader.read();
  Shape stored = header.shape, order;
  for (int64_t i = 0; i < stored.dim(); ++i) order.push_back(stored.dim() - 1 - i);
  if (header.fortran_order) std::reverse(stored.begin(), stored.end());
  const Tensor x = empty(stored, header.dtype);
  file.read_at(x.data(), static_cast<size_t>(bytes_of(x)), header.values);
  reader.require(holds_valid_values(x), "it holds truth values that are neither 0 nor 1");
  return header.fortran_order ? x.with_layout(x.layout().permute(order)) : x;
}

}  // namespace tern
