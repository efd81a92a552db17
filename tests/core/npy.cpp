#include <tern/core/npy.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/core/temporary_folder.h>

#include <cstring>

using namespace tern;
using namespace tern::tests;

namespace {

std::string npy(const std::string& header, size_t value_bytes, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(header.size() >> 8 * i);
  return text + header + std::string(value_bytes, '\0');
}

std::string load_error(const std::string& text) {
  const TemporaryFolder folder;
  write_text(folder.file("x.npy"), text);
  try {
    load_npy(folder.file("x.npy"));
  } catch (const IoError& error) {
    CHECK(std::string(error.what()).find("x.npy\" as .npy: ") != std::string::npos);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a tensor comes back from a .npy file as it was") {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.npy");
  for (const DType dtype : {float32, float64, float16, int64, int32, uint8, boolean}) {
    for (const Shape& shape :
         {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 0, 4}, Shape{1, 2, 3, 4, 1, 1, 2, 1}}) {
      const Tensor x = empty(shape, dtype);
      const size_t bytes = static_cast<size_t>(x.numel()) * size_of(dtype);
      for (size_t i = 0; i < bytes; ++i) static_cast<uint8_t*>(x.data())[i] = i % 3 == 1;
      save_npy(path, x);
      const Tensor y = load_npy(path);
      CHECK(y.dtype() == dtype);
      CHECK(y.shape() == shape);
      CHECK((bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0));
    }
  }
}

TEST_CASE("the bytes of a .npy file are those of NumPy") {
  const TemporaryFolder folder;
  const Tensor x = counted<float>({2, 3});
  save_npy(folder.file("x.npy"), x.with_layout(x.layout().transpose(0, 1)));
  const std::string text = read_text(folder.file("x.npy"));
  const std::string start("\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }",
                          69);
  CHECK(text.substr(0, start.size()) == start);
  CHECK(text.size() == 128 + 24);
  CHECK(text[127] == '\n');
  std::vector<float> values(6);
  std::memcpy(values.data(), text.data() + 128, 24);
  CHECK(values == std::vector<float>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("an array in Fortran order and headers of all versions are read") {
  const TemporaryFolder folder;
  std::string text = npy("{'shape': (2, 3), 'fortran_order': True, 'descr': '|u1'}", 0, 2);
  write_text(folder.file("f.npy"), text + std::string("\0\1\2\3\4\5", 6));
  const Tensor x = load_npy(folder.file("f.npy"));
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.strides() == Strides{1, 2});
  CHECK(x.data<uint8_t>()[2] == 2);
  write_text(folder.file("v.npy"), npy("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }\n", 12, 3));
  CHECK(load_npy(folder.file("v.npy")).shape() == Shape{3});
}

TEST_CASE("a damaged .npy file is an IoError that says what is wrong") {
  const auto with = [](const std::string& descr, const std::string& shape, size_t bytes) {
    return npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }\n", bytes);
  };
  const auto says = [](const std::string& text, const std::string& what) {
    const std::string error = load_error(text);
    CHECK_MESSAGE(error.find(what) != std::string::npos, error);
  };
  CHECK(load_error(with("'<f4'", "(2, 3)", 24)) == "");
  says("", "at least 12 bytes, got 0");
  says("PK\x03\x04 and so on, a zip file", "mark of the format");
  says(npy("{}", 0, 7), "version must be 1.0, 2.0 or 3.0, got 7.0");
  says(with("'<f4'", "(2, 3)", 23), "needs 24 bytes, 23 follow");
  says(with("'<f4'", "(2, 3)", 25), "needs 24 bytes, 25 follow");
  says(with("'>f4'", "(2, 3)", 24), "got \">f4\"");
  says(with("'<c8'", "(2, 3)", 48), "got \"<c8\"");
  says(with("[('a', '<f4')]", "(2, 3)", 24), "got [[\"a\",\"<f4\"]]");
  says(with("'<f4'", "(2, -3)", 24), "got [2,-3]");
  says(with("'<f4'", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", 4), "at most 8 sizes");
  says(with("'<f4'", "(9223372036854775807, 2)", 24), "too large");
  says(with("'<f4'", "(9223372036854775808,)", 24), "shape must be");
  says(with("'<f4'", "7", 28), "shape must be");
  says(npy("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", 4), "True or False");
  says(npy("{'descr': '<f4', 'shape': ()}", 4), "expected a header");
  says(npy("import os", 4), "not one of an array");
  says(npy(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ()}\0x", 55), 4),
       "not one of an array");
  says(npy("{   ", 0).replace(8, 2, "\xff\xff"), "by its own account");
  says(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", 0) + '\2', "truth values");
}

TEST_CASE("what .npy cannot hold is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(save_npy(folder.file("x.npy"), empty({2}, bfloat16)), Error);
  CHECK_THROWS_AS(save_npy(folder.file("x.npy"), Tensor()), Error);
  CHECK_THROWS_AS(save_npy(folder.file("no/x.npy"), empty({2})), IoError);
  CHECK_THROWS_AS(load_npy(folder.file("none.npy")), IoError);
  CHECK(folder.count() == 0);
}
