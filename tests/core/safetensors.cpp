#include <tern/core/allocator.h>
#include <tern/core/checksum.h>
#include <tern/core/file.h>
#include <tern/core/safetensors.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/core/temporary_folder.h>

#include <cstring>
#include <limits>

using namespace tern;
using namespace tern::tests;

namespace {

// What python_safetensors.py writes.
TensorMap python_tensors() {
  const auto halves = [](auto zero) {
    using T = decltype(zero);
    return make<T>({4}, {T(0.5f), T(-2.f), T(65504.f), T(0x1p-24f)});
  };
  return {{"float32", counted<float>({2, 3}, 0.25)},
          {"float64", make<double>({3}, {1. / 3, -1e300, std::numeric_limits<double>::infinity()})},
          {"float16", halves(Half())},
          {"bfloat16", halves(BFloat16())},
          {"int64", make<int64_t>({2, 1}, {INT64_MIN, INT64_MAX})},
          {"int32", make<int32_t>({2}, {-7, INT32_MAX})},
          {"uint8", make<uint8_t>({3}, {0, 127, 255})},
          {"bool", generate<bool>({3}, [](int64_t i) { return i != 1; })},
          {"scalar", make<float>({}, {2.5})},
          {"empty", empty({3, 0, 2})},
          {"name \u00e9 \"quoted\"", make<uint8_t>({1}, {1})}};
}

const std::map<std::string, std::string> python_metadata = {{"made by", "Python, \u201csafetensors\u201d\n"}};

void check_equal(const TensorMap& actual, const TensorMap& expected) {
  REQUIRE(actual.size() == expected.size());
  for (const auto& entry : expected) {
    const std::string& name = entry.first;
    const Tensor& x = entry.second;
    CAPTURE(name);
    REQUIRE(actual.contains(name));
    const Tensor& y = actual.at(name);
    CHECK(y.shape() == x.shape());
    REQUIRE(y.dtype() == x.dtype());
    CHECK(y.is_contiguous());
    const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
    CHECK((bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0));
  }
}

// A file with this header and as many zero bytes as values.
std::string file_text(const std::string& header, size_t value_bytes = 0) {
  const uint64_t length = header.size();
  std::string text(sizeof(length), '\0');
  std::memcpy(text.data(), &length, sizeof(length));
  return text + header + std::string(value_bytes, '\0');
}

std::string load_error(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.file("bad.safetensors");
  write_text(path, text);
  const std::string error = error_of<IoError>([&] { load_safetensors(path); });
  if (error != "no error") CHECK(contains(error, path));
  return error;
}

void check_refused(const std::string& header, size_t value_bytes, const std::string& reason) {
  CAPTURE(header);
  const std::string error = load_error(file_text(header, value_bytes));
  CAPTURE(error);
  CHECK(contains(error, reason));
}

}  // namespace

TEST_CASE("a file that Python wrote loads") {
  const Safetensors file = load_safetensors(committed_file("python.safetensors"));
  check_equal(file.tensors, python_tensors());
  CHECK(file.metadata == python_metadata);
}

TEST_CASE("the same tensors give the same bytes as Python's library") {
  const TemporaryFolder folder;
  save_safetensors(folder.file("a"), python_tensors(), python_metadata);
  CHECK(read_text(folder.file("a")) == read_text(committed_file("python.safetensors")));
}

TEST_CASE("files with only metadata, or with nothing, round-trip") {
  const TemporaryFolder folder;
  save_safetensors(folder.file("a"), {}, {{"epoch", "3"}, {"", ""}});
  const Safetensors only_metadata = load_safetensors(folder.file("a"));
  CHECK(only_metadata.tensors.empty());
  CHECK(only_metadata.metadata == std::map<std::string, std::string>{{"epoch", "3"}, {"", ""}});
  save_safetensors(folder.file("b"), {});
  CHECK(read_text(folder.file("b")) == file_text("{}      "));
  CHECK(load_safetensors(folder.file("b")).tensors.empty());
}

TEST_CASE("tensors of any strides are written in row-major order") {
  const TemporaryFolder folder;
  const Tensor x = counted<float>({2, 3, 4, 5});
  const Tensor channels_last = empty({1, 2, 1, 2}, float32, {}, MemoryFormat::channels_last);
  for (int i = 0; i < 4; ++i) channels_last.data<float>()[i] = static_cast<float>(i);
  const Layout layout = x.layout();
  const auto transposed = x.with_layout(layout.permute({3, 1, 0, 2}));
  const auto expanded = make<Half>({1}, {Half(3.f)}).with_layout(Layout({1}, {1}).expand({2, 700}));
  save_safetensors(folder.file("a"), {{"permuted", transposed},
                                      {"sliced", x.with_layout(layout.slice(3, 1, 5, 2).select(0, 1))},
                                      {"nhwc", channels_last},
                                      {"expanded", expanded}});
  const TensorMap loaded = load_safetensors(folder.file("a")).tensors;
  CHECK(loaded.at("permuted").shape() == Shape{5, 3, 2, 4});
  const auto* permuted = loaded.at("permuted").data<float>();
  for (int64_t i = 0; i < 120; ++i) {
    const int64_t w = i / 24, c = i / 8 % 3, n = i / 4 % 2, h = i % 4;
    CHECK(permuted[i] == static_cast<float>(((n * 3 + c) * 4 + h) * 5 + w));
  }
  const Tensor sliced = generate<float>({3, 4, 2}, [](int64_t i) {
    return static_cast<float>(60 + i / 8 * 20 + i / 2 % 4 * 5 + 1 + i % 2 * 2);
  });
  check_equal({{"sliced", loaded.at("sliced")}}, {{"sliced", sliced}});
  check_equal({{"nhwc", loaded.at("nhwc")}}, {{"nhwc", make<float>({1, 2, 1, 2}, {0, 2, 1, 3})}});
  const Tensor threes = generate<Half>({2, 700}, [](int64_t) { return Half(3.f); });
  check_equal({{"expanded", loaded.at("expanded")}}, {{"expanded", threes}});
}

TEST_CASE("a file of many megabytes round-trips over several threads") {
  const TemporaryFolder folder;
  const TensorMap tensors = {{"large", counted<int32_t>({3, 1000003})}, {"small", counted<double>({7})}};
  save_safetensors(folder.file("a"), tensors);
  check_equal(load_safetensors(folder.file("a")).tensors, tensors);
}

TEST_CASE("a mapped file holds the same tensors, and writing to them leaves the file as it was") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  save_safetensors(path, python_tensors(), python_metadata);
  const std::string bytes = read_text(path);
  TensorMap kept;
  {
    const Safetensors file = load_safetensors(path, {.memory_map = true});
    check_equal(file.tensors, python_tensors());
    CHECK(file.metadata == python_metadata);
    kept = file.tensors;
  }
  const int64_t allocations = memory_statistics().allocations;
  check_equal(load_safetensors(path, {.memory_map = true}).tensors, kept);
  CHECK(memory_statistics().allocations - allocations <= 1);  // the empty tensor's
  kept.at("int32").data<int32_t>()[0] = 5;
  CHECK(read_text(path) == bytes);
  save_safetensors(path, {{"other", counted<float>({3})}});  // the mapped one lives on
  CHECK(kept.at("int32").data<int32_t>()[0] == 5);
  CHECK(kept.at("int64").data<int64_t>()[1] == INT64_MAX);
}

TEST_CASE("tensors that do not lie aligned in a mapped file are copied") {
  const TemporaryFolder folder;
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  std::string text = file_text(header, 9);
  const float values[] = {1.5F, -2.F};
  std::memcpy(text.data() + text.size() - 8, values, 8);
  write_text(folder.file("a"), text);
  const Tensor b = load_safetensors(folder.file("a"), {.memory_map = true}).tensors.at("b");
  CHECK(reinterpret_cast<uintptr_t>(b.data()) % 4 == 0);
  check_equal({{"b", b}}, {{"b", make<float>({2}, {1.5F, -2.F})}});
  write_text(folder.file("a"), text.substr(0, text.size() - 1));
  CHECK_THROWS_AS(load_safetensors(folder.file("a"), {.memory_map = true}), IoError);
}

TEST_CASE("saving returns the file's checksum") {
  const TemporaryFolder folder;
  const uint32_t sum = save_safetensors(folder.file("a"), {{"large", counted<int32_t>({3, 1000003})}});
  const FileMapping file(folder.file("a"));
  CHECK(parallel_crc32(file.data(), static_cast<size_t>(file.size())) == sum);
  CHECK(crc32(file.data(), static_cast<size_t>(file.size())) == sum);
  CHECK(crc32("123456789", 9) == 0xcbf43926);  // the check value of its definition
  CHECK(parallel_crc32(nullptr, 0) == 0);
}

TEST_CASE("saving refuses what the format cannot hold") {
  const TemporaryFolder folder;
  const auto save = [&](const TensorMap& tensors, const std::map<std::string, std::string>& metadata = {}) {
    return error_of([&] { save_safetensors(folder.file("a"), tensors, metadata); });
  };
  CHECK(contains(save({{"x", Tensor()}}), "save_safetensors: \"x\" is undefined"));
  CHECK(contains(save({{"__metadata__", empty({1})}}), "a tensor cannot be named __metadata__"));
  CHECK(contains(save({{"\xff", empty({1})}}), "must be UTF-8"));
  CHECK(contains(save({}, {{"key", "\xff"}}), "must be UTF-8"));
  CHECK(contains(save({}, {{"key", std::string(100'000'000, 'x')}}), "the header may have 100000000 bytes"));
  CHECK(folder.count() == 0);
}

TEST_CASE("a file that ends early or claims an absurd header is refused before anything is allocated") {
  const int64_t allocations = memory_statistics().allocations;
  CHECK(contains(load_error(""), "expected at least 8 bytes, got 0"));
  CHECK(contains(load_error("1234567"), "expected at least 8 bytes, got 7"));
  for (const uint64_t length : {uint64_t{3}, uint64_t{100'000'001}, uint64_t{1} << 63, ~uint64_t{0}}) {
    std::string text = file_text("{}");
    std::memcpy(text.data(), &length, sizeof(length));
    const std::string error = load_error(text);
    CHECK(
        contains(error, "the header has " + std::to_string(length) + " bytes by its own account, at most 2"));
  }
  check_refused(R"({"x":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}})", 8,
                "within the 8 bytes of values, got [0,4000000000]");
  CHECK(memory_statistics().allocations == allocations);
}

TEST_CASE("a header of more than 100,000,000 bytes is refused even where the file has them") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  const uint64_t length = 100'000'001;
  write_text(path, std::string(reinterpret_cast<const char*>(&length), sizeof(length)));
  std::filesystem::resize_file(path, 200'000'000);
  CHECK(contains(error_of<IoError>([&] { load_safetensors(path); }), "at most 100000000 are possible"));
}

TEST_CASE("a header that is not the expected JSON is refused") {
  check_refused("", 0, "the header must begin with \"{\"");
  check_refused(" {}", 0, "the header must begin with \"{\"");
  check_refused("[]", 0, "the header must begin with \"{\"");
  check_refused("{", 0, "the header is not JSON");
  check_refused("{}x", 0, "the header is not JSON");
  check_refused(std::string("{}\0", 3), 0, "the header holds a NUL byte");
  check_refused(std::string("{}\0 {]", 6), 0, "the header holds a NUL byte");
  check_refused(std::string("{\0}", 3), 0, "the header holds a NUL byte");
  check_refused(std::string("{\"a\0\":1}", 8), 0, "the header holds a NUL byte");
  check_refused("{\"\xff\":1}", 0, "the header is not JSON");
  check_refused("{\"a\":" + std::string(100000, '['), 0, "nested too deeply");
  check_refused(R"({"x":3})", 0,
                "tensor \"x\": expected an object with dtype, shape and data_offsets, got 3");
  check_refused(R"({"x":{"dtype":"U8","shape":[1]}})", 1, "expected an object with dtype");
  check_refused(R"({"__metadata__":[]})", 0, "__metadata__ must be an object of texts, got []");
  check_refused(R"({"__metadata__":{"a":1}})", 0, "__metadata__ must be an object of texts, got 1 for \"a\"");
}

TEST_CASE("names given twice are refused") {
  const std::string x = R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  check_refused("{" + x + "," + x + "}", 1, "\"x\" is given twice");
  check_refused(R"({"x":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
                "\"dtype\" is given twice");
  check_refused(R"({"__metadata__":{"a":"1","\u0061":"2"}})", 0, "\"a\" is given twice");
}

TEST_CASE("sizes that do not fit the shape and dtype are refused") {
  check_refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
                "tensor \"x\": shape [2] of float32 needs 8 bytes, but data_offsets give it 4");
  check_refused(R"({"x":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[0,2]}})", 2,
                "dtype must be F64, F32, F16, BF16, I64, I32, U8 or BOOL, got \"F8_E5M2\"");
  check_refused(R"({"x":{"dtype":4,"shape":[2],"data_offsets":[0,2]}})", 2, "dtype must be");
  const std::string rest = R"(,"data_offsets":[0,2]}})", start = R"({"x":{"dtype":"U8","shape":)";
  check_refused(start + "[4294967296,4294967296]" + rest, 2, "shape [4294967296, 4294967296] is too large");
  check_refused(start + "[4294967296,4294967296,0]" + rest, 2, "is too large");
  check_refused(start + "[9223372036854775808]" + rest, 2, "shape must be a list of whole numbers");
  check_refused(start + "[-1]" + rest, 2, "shape must be a list of whole numbers");
  check_refused(start + "[2.0]" + rest, 2, "shape must be a list of whole numbers");
  check_refused(start + "2" + rest, 2, "shape must be a list of whole numbers");
  check_refused(start + "[1,1,1,1,1,1,1,1,2]" + rest, 2, "at most 8 dimensions are supported, got 9");
}

TEST_CASE("places that overlap, leave gaps or do not end with the file are refused") {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"x":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
           R"(},"y":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
  };
  CHECK(load_error(file_text(two("[0,2]", "[2,4]"), 4)) == "no error");
  CHECK(load_error(file_text(two("[2,4]", "[0,2]"), 4)) == "no error");
  check_refused(two("[0,2]", "[1,3]"), 3,
                "tensor \"y\" begins at 1 but the one before it ends at 2 (they overlap)");
  check_refused(two("[0,2]", "[0,2]"), 2, "they overlap");
  check_refused(two("[0,2]", "[3,5]"), 5,
                "tensor \"y\" begins at 3 but the one before it ends at 2 (there is a gap)");
  check_refused(two("[1,3]", "[3,5]"), 5, "there is a gap");
  check_refused(two("[0,2]", "[2,4]"), 5, "the tensors take 4 bytes, but 5 follow the header");
  check_refused(two("[0,2]", "[2,4]"), 3, "within the 3 bytes of values, got [2,4]");
  check_refused(two("[2,0]", "[2,4]"), 4, "data_offsets must be a begin and an end");
  check_refused(two("[0,2,4]", "[2,4]"), 4, "data_offsets must be a begin and an end");
  check_refused("{}", 1, "the tensors take 0 bytes, but 1 follow the header");
}

TEST_CASE("truth values other than 0 and 1 are refused") {
  std::string text = file_text(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  text.back() = 2;
  CHECK(contains(load_error(text), "tensor \"x\" holds truth values that are neither 0 nor 1"));
}

TEST_CASE("every truncation and every change of a byte of the header loads or is an IoError") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  save_safetensors(path,
                   {{"a", counted<float>({2, 3})}, {"b", generate<bool>({1}, [](int64_t) { return true; })}},
                   {{"k", "v"}});
  const std::string good = read_text(path);
  const size_t header_end = good.size() - 25;
  int loaded = 0;
  const auto try_load = [&] {
    try {
      load_safetensors(path);
      ++loaded;
    } catch (const IoError& error) {
      if (!contains(error.what(), path)) FAIL_CHECK("an error does not name the file: ", error.what());
    }
  };
  for (size_t bytes = good.size(); bytes-- > 0;) {
    std::filesystem::resize_file(path, bytes);
    try_load();
  }
  CHECK(loaded == 0);
  write_text(path, good);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](size_t at, char value) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(value).flush();
    REQUIRE(file.good());
  };
  for (size_t at = 0; at < header_end; ++at) {
    for (int value = 0; value < 256; ++value) {
      put(at, static_cast<char>(value));
      try_load();
    }
    put(at, good[at]);
  }
  CHECK(loaded > static_cast<int>(header_end));
}
