#include <tern/core/error.h>
#include <tern/core/file.h>
#include <tern/core/safetensors.h>
#include <tern/core/tensor_values.h>
#include <tern/core/thread_pool.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tern {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr int64_t length_bytes = 8, max_header = 100'000'000;
constexpr std::string_view metadata_key = "__metadata__";

struct DTypeName {
  const char* text;
  DType dtype;
};
// Those that are written first come first: the reference library's order, so that values lie aligned.
constexpr DTypeName dtype_names[] = {{"I64", int64}, {"F64", float64},   {"F32", float32},
                                     {"I32", int32}, {"BF16", bfloat16}, {"F16", float16},
                                     {"U8", uint8},  {"BOOL", boolean}};

size_t rank_of(DType dtype) {
  const auto* found = std::find_if(std::begin(dtype_names), std::end(dtype_names),
                                   [&](const DTypeName& entry) { return entry.dtype == dtype; });
  return static_cast<size_t>(found - std::begin(dtype_names));
}

struct Entry {
  std::string name;
  DType dtype = float32;
  Shape shape;
  int64_t begin = 0, end = 0;  // within the values
};

struct Header {
  std::vector<Entry> entries;  // in the order of their values
  std::map<std::string, std::string> metadata;
};

// Pieces of the file as parts of an error message, put together only when there is one.
std::string shortened(const std::string& text) {
  return text.size() <= 200 ? text : text.substr(0, 200) + "…";
}
struct Name {
  const std::string& text;
  friend std::ostream& operator<<(std::ostream& out, const Name& name) {
    return out << '"' << shortened(name.text) << '"';
  }
};
struct Label {
  const std::string& name;
  friend std::ostream& operator<<(std::ostream& out, const Label& label) {
    return out << "tensor " << Name{label.name} << ": ";
  }
};
struct Json {
  const json& value;
  friend std::ostream& operator<<(std::ostream& out, const Json& part) {
    return out << shortened(part.value.dump());
  }
};

// Reads the header of one file; every fault is an IoError.
class HeaderParser {
 public:
  HeaderParser(const std::string& path, int64_t value_bytes) : path_(path), value_bytes_(value_bytes) {}

  Header parse(const std::string& text) const {
    const json root = parse_json(text);
    require(root.is_object(), "the header must be a JSON object");
    Header header;
    for (const auto& [name, value] : root.items()) {
      if (name == metadata_key)
        header.metadata = metadata(value);
      else
        header.entries.push_back(entry(name, value));
    }
    std::sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    check_places(header.entries);
    return header;
  }

  template <class... Parts>
  void require(bool condition, const Parts&... message) const {
    check_as<IoError>(condition, "cannot read \"", path_, "\" as safetensors: ", message...);
  }

 private:
  // JSON lets a key come twice and keeps the last one; here that is an error, and so is deep nesting.
  json parse_json(const std::string& text) const {
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, json::parse_event_t event, json& value) {
      require(depth <= 4, "the header is nested too deeply");
      if (event == json::parse_event_t::object_start) keys.emplace_back();
      if (event == json::parse_event_t::object_end) keys.pop_back();
      if (event == json::parse_event_t::key)
        require(keys.back().insert(value.get<std::string>()).second, Json{value},
                " is given twice in the header");
      return true;
    };
    require(text.starts_with('{'), "the header must begin with \"{\"");
    // The parser would take it for the end and pass over what follows.
    require(text.find('\0') == std::string::npos, "the header holds a NUL byte");
    try {
      return json::parse(text, watch);
    } catch (const json::exception& error) {
      require(false, "the header is not JSON: ", shortened(error.what()));
    }
    return {};  // not reached
  }

  std::map<std::string, std::string> metadata(const json& value) const {
    require(value.is_object(), "__metadata__ must be an object of texts, got ", Json{value});
    std::map<std::string, std::string> result;
    for (const auto& [key, text] : value.items()) {
      require(text.is_string(), "__metadata__ must be an object of texts, got ", Json{text}, " for ",
              Name{key});
      result[key] = text.get<std::string>();
    }
    return result;
  }

  Entry entry(const std::string& name, const json& value) const {
    const Label label{name};
    require(value.is_object() && value.contains("dtype") && value.contains("shape") &&
                value.contains("data_offsets"),
            label, "expected an object with dtype, shape and data_offsets, got ", Json{value});
    const std::vector<int64_t> shape = sizes(value["shape"], label, "shape");
    const std::vector<int64_t> offsets = sizes(value["data_offsets"], label, "data_offsets");
    require(shape.size() <= max_dims, label, "at most ", max_dims, " dimensions are supported, got ",
            shape.size());
    require(offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= value_bytes_, label,
            "data_offsets must be a begin and an end within the ", value_bytes_, " bytes of values, got ",
            Json{value["data_offsets"]});
    const Entry result{name, dtype(value["dtype"], label), Shape(shape), offsets[0], offsets[1]};
    check_size(result, label);
    return result;
  }

  DType dtype(const json& value, const Label& label) const {
    const auto* found = std::find_if(std::begin(dtype_names), std::end(dtype_names),
                                     [&](const DTypeName& known) { return value == known.text; });
    require(found != std::end(dtype_names), label,
            "dtype must be F64, F32, F16, BF16, I64, I32, U8 or BOOL, got ", Json{value});
    return found->dtype;
  }

  std::vector<int64_t> sizes(const json& list, const Label& label, const char* what) const {
    std::vector<int64_t> result;
    bool good = list.is_array();
    for (const json& size : list) {
      good = good && size.is_number_unsigned() &&
             size.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      if (good) result.push_back(size.get<int64_t>());
    }
    require(good, label, what, " must be a list of whole numbers from 0 to 2^63 - 1, got ", Json{list});
    return result;
  }

  void check_size(const Entry& entry, const Label& label) const {
    auto bytes = static_cast<int64_t>(size_of(entry.dtype));
    bool overflow = false;
    for (const int64_t size : entry.shape) overflow |= __builtin_mul_overflow(bytes, size, &bytes);
    require(!overflow, label, "shape ", entry.shape, " is too large");
    require(bytes == entry.end - entry.begin, label, "shape ", entry.shape, " of ", entry.dtype, " needs ",
            bytes, " bytes, but data_offsets give it ", entry.end - entry.begin);
  }

  void check_places(const std::vector<Entry>& entries) const {
    int64_t end = 0;
    for (const Entry& entry : entries) {
      require(entry.begin == end, "tensor ", Name{entry.name}, " begins at ", entry.begin,
              " but the one before it ends at ", end,
              entry.begin < end ? " (they overlap)" : " (there is a gap)");
      end = entry.end;
    }
    require(end == value_bytes_, "the tensors take ", end, " bytes, but ", value_bytes_,
            " follow the header");
  }

  const std::string& path_;
  int64_t value_bytes_;
};

// The length of the header, checked against the file.
int64_t header_length(const FileReader& file) {
  check_as<IoError>(file.size() >= length_bytes, "cannot read \"", file.path(),
                    "\" as safetensors: expected at least ", length_bytes, " bytes, got ", file.size());
  uint64_t length = 0;
  file.read_at(&length, length_bytes, 0);
  const auto most = static_cast<uint64_t>(std::min(max_header, file.size() - length_bytes));
  check_as<IoError>(length <= most, "cannot read \"", file.path(), "\" as safetensors: the header has ",
                    length, " bytes by its own account, at most ", most, " are possible in a file of ",
                    file.size());
  return static_cast<int64_t>(length);
}

// A part of one tensor, read at once by one thread.
struct Piece {
  char* target;
  size_t bytes;
  int64_t offset;
};

void read_values(const FileReader& file, const std::vector<Piece>& pieces) {
  const auto count = static_cast<int64_t>(pieces.size());
  // A small file is not worth other threads.
  const bool small = file.size() < (8 << 20);
  parallel_for(count, small ? std::max<int64_t>(count, 1) : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Piece& piece = pieces[static_cast<size_t>(i)];
      file.read_at(piece.target, piece.bytes, piece.offset);
    }
  });
}

void cut_into_pieces(const Entry& entry, int64_t values, char* target, std::vector<Piece>& pieces) {
  constexpr int64_t most = 4 << 20;
  for (int64_t at = entry.begin; at < entry.end; at += most)
    pieces.push_back(
        {target + (at - entry.begin), static_cast<size_t>(std::min(most, entry.end - at)), values + at});
}

TensorMap read_tensors(const FileReader& file, const std::vector<Entry>& entries, int64_t values) {
  TensorMap tensors;
  std::vector<Piece> pieces;
  for (const Entry& entry : entries) {
    const Tensor x = empty(entry.shape, entry.dtype);
    cut_into_pieces(entry, values, static_cast<char*>(x.data()), pieces);
    tensors.emplace(entry.name, x);
  }
  read_values(file, pieces);
  return tensors;
}

// Tensors over the file's own memory, which each keeps alive. Those of other writers need not lie aligned,
// and are copied then.
TensorMap map_tensors(const std::string& path, const std::vector<Entry>& entries, int64_t size,
                      int64_t values) {
  const auto mapping = std::make_shared<FileMapping>(path);
  check_as<IoError>(mapping->size() == size, "cannot read \"", path, "\": it is being replaced");
  TensorMap tensors;
  for (const Entry& entry : entries) {
    char* const data = mapping->data() + values + entry.begin;
    const auto bytes = static_cast<size_t>(entry.end - entry.begin);
    if (bytes > 0 && reinterpret_cast<uintptr_t>(data) % size_of(entry.dtype) == 0) {
      auto memory = make_ref<Storage>(data, bytes, Device(), [mapping] {});
      tensors.emplace(entry.name, Tensor(std::move(memory), Layout(entry.shape), entry.dtype));
    } else {
      const Tensor x = empty(entry.shape, entry.dtype);
      if (bytes > 0) std::memcpy(x.data(), data, bytes);
      tensors.emplace(entry.name, x);
    }
  }
  return tensors;
}

// The tensors in the order in which they are written.
std::vector<std::pair<std::string, Tensor>> in_order(const TensorMap& tensors) {
  for (const auto& [name, x] : tensors) {
    check(x.defined(), "save_safetensors: \"", name, "\" is undefined");
    check(x.device().is_cpu(), "save_safetensors: \"", name, "\" must be on the CPU, it is on ", x.device());
    check(name != metadata_key, "save_safetensors: a tensor cannot be named ", metadata_key);
  }
  std::vector<std::pair<std::string, Tensor>> ordered(tensors.begin(), tensors.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return rank_of(a.second.dtype()) < rank_of(b.second.dtype());
  });
  return ordered;
}

std::string json_text(const json& value) {
  try {
    return value.dump();
  } catch (const json::exception& error) {
    detail::raise<Error>(false, "save_safetensors: names and metadata must be UTF-8: ", error.what());
  }
}

std::string format_header(const std::vector<std::pair<std::string, Tensor>>& tensors,
                          const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> items;
  if (!metadata.empty()) items.push_back(json_text(metadata_key) + ":" + json_text(metadata));
  int64_t end = 0;
  for (const auto& [name, x] : tensors) {
    const int64_t begin = std::exchange(end, end + bytes_of(x));
    items.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_text(name),
                                dtype_names[rank_of(x.dtype())].text, fmt::join(x.shape(), ","), begin, end));
  }
  const std::string text = fmt::format("{{{}}}", fmt::join(items, ","));
  return text + std::string((8 - text.size() % 8) % 8, ' ');
}

}  // namespace

uint32_t save_safetensors(const std::string& path, const TensorMap& tensors,
                          const std::map<std::string, std::string>& metadata) {
  const auto ordered = in_order(tensors);
  const std::string header = format_header(ordered, metadata);
  check(header.size() <= max_header, "save_safetensors: the header may have ", max_header,
        " bytes, these names and metadata take ", header.size());
  uint32_t checksum = 0;
  write_file_atomically(path, [&](FileWriter& file) {
    const auto length = static_cast<uint64_t>(header.size());
    file.write(&length, length_bytes);
    file.write(header);
    for (const auto& [name, x] : ordered) write_values(file, x);
    checksum = file.checksum();
  });
  return checksum;
}

Safetensors load_safetensors(const std::string& path, const LoadSafetensorsOptions& options) {
  const FileReader file(path);
  const int64_t length = header_length(file), values = length_bytes + length;
  std::string text(static_cast<size_t>(length), '\0');
  file.read_at(text.data(), text.size(), length_bytes);
  const HeaderParser parser(path, file.size() - values);
  Header header = parser.parse(text);

  Safetensors result;
  result.metadata = std::move(header.metadata);
  result.tensors = options.memory_map ? map_tensors(path, header.entries, file.size(), values)
                                      : read_tensors(file, header.entries, values);
  for (const auto& [name, x] : result.tensors)
    parser.require(holds_valid_values(x), "tensor ", Name{name},
                   " holds truth values that are neither 0 nor 1");
  return result;
}

}  // namespace tern
