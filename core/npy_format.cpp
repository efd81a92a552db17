#include <tern/core/npy_format.h>

#include <tern/core/error.h>
#include <tern/core/tensor_values.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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

int64_t byte_at(std::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

// Where the header itself begins, after its length.
int64_t header_begin(std::string_view start) { return start[6] == 1 ? 10 : 12; }

// A Python literal. Those of arrays that can be read here differ from JSON only in these signs.
json parse_literal(std::string text) {
  if (text.find('"') != text.npos || text.find('\0') != text.npos) return json(json::value_t::discarded);
  const auto replace = [&text](std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  for (const auto& [from, to] : {std::pair{"'", "\""},
                                 {"(", "["},
                                 {")", "]"},
                                 {"False", "false"},
                                 {"True", "true"},
                                 {", }", "}"},
                                 {",}", "}"},
                                 {",]", "]"}})
    replace(from, to);
  // Deeper than any array's header, so that nothing recurses far.
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    check_as<IoError>(depth <= 3, "nested too deeply");
    return true;
  };
  try {
    return json::parse(text, shallow, false);
  } catch (const IoError&) {
    return json(json::value_t::discarded);
  }
}

// Whether `list` is a shape, which is put into `shape`.
bool read_shape(const json& list, Shape& shape) {
  std::vector<int64_t> sizes;
  if (!list.is_array() || list.size() > max_dims) return false;
  for (const json& size : list) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX) return false;
    sizes.push_back(size.get<int64_t>());
  }
  shape = Shape(sizes);
  return true;
}

}  // namespace

int64_t NpyParser::values_begin(std::string_view start) const {
  require(start.size() >= start_bytes, "expected at least ", start_bytes, " bytes, got ", start.size());
  require(start.starts_with(magic), "it does not begin with the mark of the format");
  const int64_t version = byte_at(start, 6);
  require(version >= 1 && version <= 3 && start[7] == 0, "the format's version must be 1.0, 2.0 or 3.0, got ",
          version, ".", byte_at(start, 7));
  int64_t length = byte_at(start, 8) | byte_at(start, 9) << 8;
  if (version > 1) length |= byte_at(start, 10) << 16 | byte_at(start, 11) << 24;
  require(length <= most_header, "the header has ", length, " bytes by its own account, at most ",
          most_header, " are possible");
  return std::max(header_begin(start) + length, start_bytes);
}

NpyHeader NpyParser::header(std::string_view before) const {
  const std::string text(before.substr(static_cast<size_t>(header_begin(before))));
  const json fields = parse_literal(text);
  require(!fields.is_discarded(), "the header is not one of an array: ", text);
  require(fields.is_object() && fields.size() == 3 && fields.contains("descr") &&
              fields.contains("fortran_order") && fields.contains("shape"),
          "expected a header with descr, fortran_order and shape, got ", text);
  require(fields["fortran_order"].is_boolean(), "fortran_order must be True or False, got ", text);
  NpyHeader header;
  header.begin = static_cast<int64_t>(before.size());
  header.dtype = dtype_of(fields["descr"].dump());
  header.fortran_order = fields["fortran_order"].get<bool>();
  require(read_shape(fields["shape"], header.shape), "the shape must be a list of at most ", max_dims,
          " sizes from 0 to 2^63 - 1, got ", fields["shape"].dump());
  header.bytes = static_cast<int64_t>(size_of(header.dtype));
  bool overflow = false;
  for (const int64_t size : header.shape)
    overflow |= __builtin_mul_overflow(header.bytes, size, &header.bytes);
  require(!overflow, "shape ", header.shape, " is too large");
  return header;
}

DType NpyParser::dtype_of(const std::string& descr) const {
  const auto* found = std::find_if(std::begin(type_names), std::end(type_names), [&](const TypeName& known) {
    return descr == fmt::format("\"{}\"", known.text);
  });
  require(found != std::end(type_names), "the elements must be <f4, <f8, <f2, <i8, <i4, |u1 or |b1, got ",
          descr);
  return found->dtype;
}

Shape NpyParser::stored_shape(const NpyHeader& header) {
  Shape shape = header.shape;
  if (header.fortran_order) std::reverse(shape.begin(), shape.end());
  return shape;
}

Tensor NpyParser::finished(const NpyHeader& header, const Tensor& stored) const {
  require(holds_valid_values(stored), "it holds truth values that are neither 0 nor 1");
  if (!header.fortran_order) return stored;
  Shape order;
  for (int64_t i = stored.dim() - 1; i >= 0; --i) order.push_back(i);
  return stored.with_layout(stored.layout().permute(order));
}

std::string npy_header_of(const Tensor& x, const std::string& operation) {
  check(x.defined(), operation, ": the tensor is undefined");
  check(x.device().is_cpu(), operation, ": the tensor must be on the CPU, it is on ", x.device());
  const auto* type = std::find_if(std::begin(type_names), std::end(type_names),
                                  [&](const TypeName& known) { return known.dtype == x.dtype(); });
  check(type != std::end(type_names), operation, ": NumPy has no ", x.dtype());
  std::string fields = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->text,
                                   fmt::join(x.shape(), ", "), x.dim() == 1 ? "," : "");
  // Values begin at a multiple of 64; the line ends the header.
  const size_t before = magic.size() + 4, used = before + fields.size() + 1;
  fields += std::string((64 - used % 64) % 64, ' ') + "\n";
  const std::string length{static_cast<char>(fields.size() & 0xff), static_cast<char>(fields.size() >> 8)};
  return std::string(magic) + std::string("\x01\x00", 2) + length + fields;
}

}  // namespace tern
