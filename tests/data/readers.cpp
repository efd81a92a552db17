#include <tern/data/mnist.h>
#include <tern/tests/data/data_testing.h>

#include <numeric>

#include <unistd.h>
#include <zlib.h>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

// Records of CIFAR-10: the label, then 3072 bytes of which byte k is label + k.
std::string cifar_records(const std::vector<int>& labels) {
  std::string bytes;
  for (const int label : labels) {
    bytes += static_cast<char>(label);
    for (int k = 0; k < 3072; ++k) bytes += static_cast<char>(label + k);
  }
  return bytes;
}

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string idx(const std::vector<uint32_t>& sizes, size_t bytes) {
  std::string text = big_endian(0x800 + static_cast<uint32_t>(sizes.size()));
  for (const uint32_t size : sizes) text += big_endian(size);
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(i % 10);
  return text;
}

void write_gzip(const fs::path& path, const std::string& content) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) ==
          static_cast<int>(content.size()));
  REQUIRE(gzclose(file) == Z_OK);
}

std::string cifar_error(const fs::path& folder) {
  return error_of<IoError>([&] { cifar10(folder); });
}

std::string idx_error(const fs::path& path) {
  return error_of<IoError>([&] { read_idx(path); });
}

}  // namespace

TEST_CASE("CIFAR-10's training files are read one after the other") {
  const TempFolder folder;
  write_file(folder / "data_batch_1.bin", cifar_records({3, 9}));
  write_file(folder / "data_batch_2.bin", cifar_records(std::vector<int>(300, 7)));
  write_file(folder / "test_batch.bin", cifar_records({5}));
  const ImageDataset train = cifar10(folder.path()), test = cifar10(folder.path(), {.train = false});
  CHECK(train.images().shape() == Shape{302, 3, 32, 32});
  CHECK(train.labels().data<int64_t>()[1] == 9);
  CHECK(train.labels().data<int64_t>()[301] == 7);
  CHECK(train.images().data<uint8_t>()[1] == 4);
  CHECK(train.images().data<uint8_t>()[302 * 3072 - 1] == static_cast<uint8_t>(7 + 3071));
  CHECK(train.classes()[9] == "truck");
  CHECK(test.size() == 1);
  CHECK(test.labels().data<int64_t>()[0] == 5);
}

TEST_CASE("CIFAR-10 may lie in the folder that its archive makes, with class names of its own") {
  const TempFolder folder;
  fs::create_directory(folder / "cifar-10-batches-bin");
  write_file(folder / "cifar-10-batches-bin/data_batch_1.bin", cifar_records({0}));
  write_file(folder / "cifar-10-batches-bin/batches.meta.txt", "a\nb\nc\r\nd\ne\nf\ng\nh\ni\nj\n\n");
  CHECK(cifar10(folder.path()).classes()[2] == "c");
  write_file(folder / "cifar-10-batches-bin/batches.meta.txt", "a\nb\n");
  CHECK(
      contains(cifar_error(folder.path()), "batches.meta.txt: expected 10 class names, a line each, got 2"));
}

TEST_CASE("a wrong CIFAR-10 file is an error that says which, what was expected and what came") {
  const TempFolder folder;
  const fs::path file = folder / "data_batch_1.bin";
  CHECK(contains(cifar_error(folder.path()), "cifar-10-batches-bin in it holds data_batch_1.bin"));
  const std::string good = cifar_records({1, 2});
  const std::string expected = "data_batch_1.bin: expected 1 to 10000 images of 3073 bytes each, got ";
  write_file(file, good.substr(0, 5000));
  CHECK(contains(cifar_error(folder.path()), expected + "5000 bytes"));
  write_file(file, good + "x");
  CHECK(contains(cifar_error(folder.path()), expected + "6147 bytes"));
  write_file(file, "");
  CHECK(contains(cifar_error(folder.path()), expected + "0 bytes"));
  fs::resize_file(file, 3073 * 10001);
  CHECK(contains(cifar_error(folder.path()), expected + "30733073 bytes"));
  write_file(file, cifar_records({1, 10}));
  CHECK(contains(cifar_error(folder.path()),
                 "data_batch_1.bin: image 1: expected a label from 0 to 9, got 10"));
  write_file(file, good);
  write_file(folder / "data_batch_3.bin", good);
  CHECK(contains(cifar_error(folder.path()), "data_batch_3.bin is there, but data_batch_2.bin is missing"));
  fs::remove(folder / "data_batch_3.bin");
  fs::create_directory(folder / "data_batch_2.bin");
  CHECK(contains(cifar_error(folder.path()), "data_batch_2.bin: is a directory, not a file"));
}

TEST_CASE("a file that may not be read is an error that says so") {
  const TempFolder folder;
  write_file(folder / "data_batch_1.bin", cifar_records({1}));
  fs::permissions(folder / "data_batch_1.bin", fs::perms::none);
  if (geteuid() == 0) {
    MESSAGE("skipped: root may read everything");
  } else {
    CHECK(contains(cifar_error(folder.path()), "data_batch_1.bin: cannot be opened: Permission denied"));
  }
}

TEST_CASE("the sample of CIFAR-10 is read and looks like images") {
  const auto folder = shared_data("cifar-10-sample");
  if (!folder) return;
  const ImageDataset train = cifar10(*folder), test = cifar10(*folder, {.train = false});
  CHECK(train.size() == 10000);
  CHECK(test.size() == 2000);
  const auto bytes = values_of<uint8_t>(train.images());
  const double mean = std::accumulate(bytes.begin(), bytes.end(), 0.0) / static_cast<double>(bytes.size());
  CHECK(mean > 110);
  CHECK(mean < 130);
}

TEST_CASE("IDX files are read plain or compressed") {
  const TempFolder folder;
  write_file(folder / "train-images-idx3-ubyte", idx({3, 2, 4}, 24));
  write_gzip(folder / "train-labels-idx1-ubyte.gz", idx({3}, 3));
  const ImageDataset dataset = mnist(folder.path());
  CHECK(dataset.images().shape() == Shape{3, 1, 2, 4});
  CHECK(dataset.images().data<uint8_t>()[23] == 3);
  CHECK(values_of<int64_t>(dataset.labels()) == std::vector<int64_t>{0, 1, 2});
  write_gzip(folder / "large", idx({3, 1000, 1000}, 3000000));
  CHECK(read_idx(folder / "large").data<uint8_t>()[2999999] == 9);
  write_file(folder / "empty", idx({0, 28, 28}, 0));
  CHECK(read_idx(folder / "empty").numel() == 0);
}

TEST_CASE("a wrong IDX file is an error that says which, what was expected and what came") {
  const TempFolder folder;
  const fs::path file = folder / "x";
  CHECK(contains(idx_error(file), "x: there is no such file"));
  CHECK(contains(idx_error(folder.path()), ": is a directory, not a file"));
  write_file(file, "ab");
  CHECK(contains(idx_error(file), "x: the header is cut off"));
  write_file(file, "PNG.............");
  CHECK(contains(idx_error(file), "x: is no IDX file of bytes: it begins with 1347307310, expected 2048 + "));
  write_file(file, big_endian(0x0d03));
  CHECK(contains(idx_error(file), "x: is no IDX file of bytes"));
  write_file(file, idx({2, 3}, 5));
  CHECK(contains(idx_error(file), "x: expected 6 bytes for [2, 3] after the header, got 5"));
  write_file(file, idx({2, 3}, 7));
  CHECK(contains(idx_error(file), "x: expected 6 bytes for [2, 3] after the header, got more"));
  write_file(file, idx({4000000000, 28}, 100));
  CHECK(contains(idx_error(file),
                 "x: expected 112000000000 bytes for [4000000000, 28] after the header, got 100"));
  write_file(file, idx({4000000000, 4000000000, 4000000000, 0}, 0));
  CHECK(contains(idx_error(file), "are beyond any file"));
}

TEST_CASE("damaged compressed files are errors") {
  const TempFolder folder;
  const fs::path file = folder / "x.gz";
  write_gzip(file, idx({100, 100}, 10000));
  const std::string good = read_file(file);
  write_file(file, good.substr(0, good.size() / 2));
  CHECK(contains(idx_error(file), "x.gz: the compressed data ends early"));
  write_file(file, good.substr(0, good.size() - 4));
  CHECK(contains(idx_error(file), "x.gz: the compressed data ends early"));
  std::string changed = good;
  changed[good.size() - 6] ^= 1;  // the checksum
  write_file(file, changed);
  CHECK(contains(idx_error(file), "x.gz: cannot be read: "));
}

TEST_CASE("images and labels that disagree are errors") {
  const TempFolder folder;
  const auto message = [&] { return error_of<IoError>([&] { mnist(folder.path()); }); };
  CHECK(contains(message(), "holds neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz"));
  write_file(folder / "train-images-idx3-ubyte", idx({2, 2, 2}, 8));
  write_file(folder / "train-labels-idx1-ubyte", idx({3}, 3));
  CHECK(contains(message(), "train-images-idx3-ubyte holds 2 images, but "));
  CHECK(contains(message(), "train-labels-idx1-ubyte 3 labels"));
  write_file(folder / "train-labels-idx1-ubyte", idx({2}, 1) + "\x0a");
  CHECK(contains(message(), "train-labels-idx1-ubyte: label 1: expected 0 to 9, got 10"));
  write_file(folder / "train-labels-idx1-ubyte", idx({2, 1}, 2));
  CHECK(contains(message(), "train-labels-idx1-ubyte: expected 1 dimensions, got [2, 1]"));
}
