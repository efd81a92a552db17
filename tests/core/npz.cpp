#include <tern/core/npz.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/core/temporary_folder.h>

#include <cstring>

#include <archive.h>
#include <archive_entry.h>

using namespace tern;
using namespace tern::tests;

namespace {

// A zip archive of these files.
void write_zip(const std::string& path, const std::vector<std::pair<std::string, std::string>>& files) {
  archive* const zip = archive_write_new();
  REQUIRE(archive_write_set_format_zip(zip) == ARCHIVE_OK);
  REQUIRE(archive_write_open_filename(zip, path.c_str()) == ARCHIVE_OK);
  for (const auto& [name, text] : files) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<int64_t>(text.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0600);
    REQUIRE(archive_write_header(zip, entry) == ARCHIVE_OK);
    REQUIRE(archive_write_data(zip, text.data(), text.size()) == static_cast<la_ssize_t>(text.size()));
    archive_entry_free(entry);
  }
  REQUIRE(archive_write_close(zip) == ARCHIVE_OK);
  archive_write_free(zip);
}

// A .npy file of floats: the shape as its header says, and as many zero bytes.
std::string npy(const std::string& shape, size_t bytes) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  return text + '\0' + header + std::string(bytes, '\0');
}

TensorMap several() {
  const Tensor x = counted<double>({2, 3, 4});
  return {{"half", make<Half>({2}, {Half(0.5F), Half(-2.F)})},
          {"large", counted<int32_t>({3, 1000003})},
          {"none", empty({0, 3}, boolean)},
          {"permuted", x.with_layout(x.layout().permute({2, 0, 1}))},
          {"scalar", make<int64_t>({}, {INT64_MIN})}};
}

void check_equal(const TensorMap& actual, const TensorMap& expected) {
  REQUIRE(actual.size() == expected.size());
  for (const auto& [name, x] : expected) {
    REQUIRE(actual.contains(name));
    const Tensor& y = actual.at(name);
    REQUIRE(y.dtype() == x.dtype());
    CHECK(y.shape() == x.shape());
    if (x.is_contiguous() && x.numel() > 0)
      CHECK(std::memcmp(x.data(), y.data(), static_cast<size_t>(x.numel()) * size_of(x.dtype())) == 0);
  }
}

std::string load_error(const std::vector<std::pair<std::string, std::string>>& files) {
  const TemporaryFolder folder;
  write_zip(folder.file("x.npz"), files);
  const std::string error = error_of<IoError>([&] { load_npz(folder.file("x.npz")); });
  CHECK(contains(error, folder.file("x.npz")));
  return error;
}

}  // namespace

TEST_CASE("arrays come back from .npz, compressed or not; equal ones give equal bytes") {
  const TemporaryFolder folder;
  for (const bool compressed : {false, true}) {
    save_npz(folder.file("a"), several(), {.compressed = compressed});
    const TensorMap loaded = load_npz(folder.file("a"));
    check_equal(loaded, several());
    CHECK(loaded.at("permuted").data<double>()[1] == 4);
    save_npz(folder.file("b"), loaded, {.compressed = compressed});
    CHECK(read_text(folder.file("a")) == read_text(folder.file("b")));
    save_npz(folder.file("a"), {}, {.compressed = compressed});
    CHECK(load_npz(folder.file("a")).empty());
  }
}

TEST_CASE("a .npz file that holds something else is refused by name") {
  CHECK(contains(load_error({{"x.txt", "text"}}), "it holds \"x.txt\", which is no .npy file"));
  CHECK(contains(load_error({{".npy", npy("(1,)", 4)}}), "it holds \".npy\", which is no .npy file"));
  CHECK(contains(load_error({{"x.npy", "text"}}), "array \"x\" as .npy: expected at least 12 bytes, got 4"));
  CHECK(contains(load_error({{"x.npy", npy("(1,)", 3)}}), "needs 4 bytes, 3 follow the header"));
  CHECK(contains(load_error({{"x.npy", npy("(1,)", 5)}}), "needs 4 bytes, more follow the header"));
  CHECK(contains(load_error({{"x.npy", npy("(1,)", 4).substr(0, 20)}}), "the header ends at"));
  CHECK(contains(load_error({{"x.npy", npy("(1,)", 4)}, {"x.npy", npy("(1,)", 4)}}), "\"x\" twice"));
  CHECK(contains(load_error({{"x.npy", npy("(1000000000000,)", 9)}}), "needs 4000000000000 bytes, 9 follow"));
}

TEST_CASE("a damaged or missing .npz file, and one that is no archive, are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.npz");
  save_npz(path, several(), {.compressed = true});
  const std::string good = read_text(path);
  std::string bad = good;
  bad[good.size() / 2] ^= 0x10;
  for (const std::string& text : {bad, good.substr(0, good.size() / 2), std::string("text"), std::string()}) {
    write_text(path, text);
    CHECK(contains(error_of<IoError>([&] { load_npz(path); }), "cannot read \"" + path));
  }
  CHECK_THROWS_AS(load_npz(folder.file("none")), IoError);
  CHECK_THROWS_AS(load_npz(folder.path().string()), IoError);
}

TEST_CASE("what .npz cannot hold is refused, and leaves nothing behind") {
  const TemporaryFolder folder;
  const auto save = [&](const TensorMap& tensors) {
    return error_of([&] { save_npz(folder.file("x"), tensors); });
  };
  CHECK(contains(save({{"x", empty({2}, bfloat16)}}), "save_npz: \"x\": NumPy has no bfloat16"));
  CHECK(contains(save({{"x", Tensor()}}), "save_npz: \"x\": the tensor is undefined"));
  CHECK(contains(save({{"", empty({2})}}), "cannot be a name"));
  CHECK_THROWS_AS(save_npz(folder.file("no/x"), several()), IoError);
  CHECK_THROWS_AS(save_npz("/dev/full", several()), IoError);
  CHECK(folder.count() == 0);
}
