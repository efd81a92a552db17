#include <tern/data/image_dataset.h>
#include <tern/tests/data/data_testing.h>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

Tensor numbered(int64_t channels, int64_t height, int64_t width) {
  return generate<uint8_t>({channels, height, width}, [](int64_t i) { return static_cast<uint8_t>(i + 1); });
}

// The values of an image in the order [C, H, W], whatever its strides.
template <class T>
std::vector<T> pixels(const Tensor& image) {
  std::vector<T> values;
  const Strides& strides = image.strides();
  for (int64_t c = 0; c < image.size(0); ++c) {
    for (int64_t y = 0; y < image.size(1); ++y) {
      for (int64_t x = 0; x < image.size(2); ++x)
        values.push_back(image.data<T>()[c * strides[0] + y * strides[1] + x * strides[2]]);
    }
  }
  return values;
}

std::vector<uint8_t> moved(const Compose& chain, const Tensor& image) {
  PhiloxStream random(1, 1);
  return pixels<uint8_t>(chain(image, random));
}

// A user's own placing transform.
struct CenterCrop {
  int64_t size;
  void place(Window& window, PhiloxStream&) const {
    window.crop((window.height - size) / 2, (window.width - size) / 2, size, size);
  }
};

// A user's own mapping transform.
struct Invert {
  void require(DType, int64_t) const {}
  float map(float value, int64_t) const { return 1 - value; }
};

ImageDataset random_images(int64_t count, int64_t channels, int64_t size, const Compose& transform) {
  PhiloxStream random(3, 3);
  Tensor images = generate<uint8_t>({count, channels, size, size},
                                    [&](int64_t) { return static_cast<uint8_t>(random.next()); });
  return {images, generate<int64_t>({count}, [](int64_t i) { return i % 10; }), transform};
}

}  // namespace

TEST_CASE("placing transforms move pixels") {
  const Tensor image = numbered(1, 2, 3);  // 1 2 3 / 4 5 6
  using Bytes = std::vector<uint8_t>;
  CHECK(moved({RandomHorizontalFlip(1)}, image) == Bytes{3, 2, 1, 6, 5, 4});
  CHECK(moved({RandomHorizontalFlip(0)}, image) == Bytes{1, 2, 3, 4, 5, 6});
  CHECK(moved({Pad(1)}, image) == Bytes{0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0});
  CHECK(moved({RepeatChannel(2)}, image) == Bytes{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  CHECK(moved({CenterCrop{1}}, image) == Bytes{2});
  CHECK(moved({CenterCrop{1}, Pad(1)}, image) == Bytes{0, 0, 0, 0, 2, 0, 0, 0, 0});
}

TEST_CASE("a window that was cropped and padded hides what lay beyond the crop") {
  Window window(1, 4, 4);
  window.crop(1, 1, 2, 2);
  window.pad(2);
  CHECK(window.seen == Window::Rectangle{1, 1, 3, 3});
  CHECK(window.top == -1);
  CHECK(window.height == 6);
  CHECK(contains(error_of([&] { window.crop(0, 3, 2, 4); }),
                 "crop: 2 x 4 pixels at (0, 3) of an image of 6 x 6"));
}

TEST_CASE("RandomCrop reaches every place equally often, and RandomHorizontalFlip every side") {
  std::vector<int> places(9), sides(2);
  for (uint64_t i = 0; i < 9000; ++i) {
    PhiloxStream random(1, i);
    Window window(1, 4, 4);
    RandomCrop(4, {.padding = 1}).place(window, random);
    RandomHorizontalFlip(0.25).place(window, random);
    ++places[static_cast<size_t>((window.top + 1) * 3 + window.left + 1)];
    ++sides[window.flipped];
  }
  for (const int count : places) CHECK(std::abs(count - 1000) < 120);
  CHECK(std::abs(sides[1] - 2250) < 160);
}

TEST_CASE("ToTensor and Normalize give PyTorch's values to the bit") {
  PhiloxStream random(1, 1);
  const Tensor image = numbered(2, 1, 2);
  const std::vector<float> mean{0.4914F, 0.25F}, std{0.247F, 0.5F};
  const Tensor result = Compose{ToTensor(), Normalize(mean, std)}(image, random);
  for (size_t i = 0; i < 4; ++i) {
    const float byte = static_cast<float>(i + 1) / 255.0F;
    CHECK(pixels<float>(result)[i] == (byte - mean[i / 2]) / std[i / 2]);
  }
}

TEST_CASE("whole batches and single samples have the same values, fused or not") {
  const std::vector<float> mean{0.5F, 0.4F, 0.3F}, std{0.2F, 0.3F, 0.4F};
  const auto identity = [](const Tensor& image) { return image; };
  const std::vector<Transform> steps[] = {
      {ToTensor()},
      {ToTensor(), Normalize(mean, std)},
      {RandomCrop(32, {.padding = 4}), RandomHorizontalFlip(), ToTensor(), Normalize(mean, std)},
      {RandomHorizontalFlip(), RandomCrop(20), Pad(3), RandomHorizontalFlip(), ToTensor()},
      {Pad(40), RandomCrop(30), ToTensor()},
      {RandomCrop(3), Pad(1), RandomCrop(4, {.padding = 2}), ToTensor(), Invert()},
  };
  for (const auto& chain : steps) {
    std::vector<Transform> single = chain;
    single.emplace_back(identity);
    const ImageDataset fused = random_images(50, 3, 32, Compose(chain));
    for (const int workers : {0, 2}) {
      DataLoader whole(fused, {.batch_size = 16, .shuffle = true, .num_workers = workers, .seed = 5});
      DataLoader apart(fused.with(Compose(single)), {.batch_size = 16, .shuffle = true, .seed = 5});
      for (int epoch = 0; epoch < 2; ++epoch) CHECK(pass_of(whole) == pass_of(apart));
    }
  }
}

TEST_CASE("grey images become padded ones of three channels") {
  const ImageDataset dataset = random_images(3, 1, 28, {Pad(2), RepeatChannel(3), ToTensor()});
  DataLoader loader(dataset, {.batch_size = 3});
  for (auto& [images, labels] : loader) {
    CHECK(images.shape() == Shape{3, 3, 32, 32});
    CHECK(images.is_channels_last());
    const float byte = static_cast<float>(dataset.images().data<uint8_t>()[28 + 5]);
    for (int64_t c = 0; c < 3; ++c) CHECK(images.data<float>()[(3 * 32 + 7) * 3 + c] == byte / 255.0F);
    CHECK(images.data<float>()[0] == 0);
    CHECK(values_of<int64_t>(labels) == std::vector<int64_t>{0, 1, 2});
  }
}

TEST_CASE("images of one, two and four channels are fused too") {
  for (const int64_t channels : {1, 2, 4}) {
    const ImageDataset fused = random_images(5, channels, 6, {RandomCrop(6, {.padding = 2}), ToTensor()});
    const auto identity = [](const Tensor& image, PhiloxStream&) { return image; };
    DataLoader whole(fused, {.batch_size = 5});
    DataLoader apart(fused.with({RandomCrop(6, {.padding = 2}), ToTensor(), identity}), {.batch_size = 5});
    CHECK(pass_of(whole) == pass_of(apart));
  }
}

TEST_CASE("a transform that was put in the wrong place or given the wrong numbers is an error") {
  PhiloxStream random(1, 1);
  const Tensor image = numbered(3, 4, 4);
  const auto message = [&](const Compose& chain) { return error_of([&] { chain(image, random); }); };
  CHECK(contains(message({Normalize({0, 0, 0}, {1, 1, 1})}), "Normalize: needs an image of float32"));
  CHECK(
      contains(message({ToTensor(), Normalize({0}, {1})}), "Normalize: 1 means for an image of 3 channels"));
  CHECK(contains(message({ToTensor(), ToTensor()}), "ToTensor: needs an image of uint8, got float32"));
  CHECK(contains(message({RandomCrop(5)}), "RandomCrop: 5 x 5 pixels from an image of 4 x 4"));
  CHECK(contains(message({RepeatChannel(3)}), "RepeatChannel: needs an image of 1 channel, got 3"));
  CHECK(contains(error_of([&] {
                   random_images(2, 3, 4, {RandomCrop(5), ToTensor()});
                 }),
                 "RandomCrop: 5 x 5"));
  CHECK(contains(error_of([] { Normalize({0, 0}, {1}); }), "Normalize: 2 means and 1 standard deviations"));
  CHECK(contains(error_of([] { Normalize({0}, {0}); }), "a standard deviation is 0"));
  CHECK(contains(error_of([] { RandomHorizontalFlip(1.5); }), "probability from 0 to 1, got 1.5"));
  CHECK(contains(error_of([] { Pad(-1); }), "Pad: needs an amount of 0 or more, got -1"));
  CHECK(contains(error_of([] { RandomCrop(0); }), "RandomCrop: size 0"));
  CHECK(contains(error_of([&] { ToTensor{}.require(int64, 1); }), "needs an image of uint8, got int64"));
}

TEST_CASE("an image dataset refuses images and labels that do not fit together") {
  const Tensor images = empty({4, 1, 2, 2}, uint8), labels = empty({4}, int64);
  CHECK(contains(error_of([&] { ImageDataset(images, empty({3}, int64)); }),
                 "labels must be int64 [4], got [3]"));
  CHECK(contains(error_of([&] {
                   ImageDataset(empty({4, 1, 2, 2}), labels);
                 }),
                 "got [4, 1, 2, 2] of float32"));
  const ImageDataset dataset(images, labels);
  PhiloxStream random(1, 1);
  CHECK(contains(error_of([&] { dataset.get(4, random); }), "there is no sample 4 among 4"));
  CHECK(dataset.take(3).size() == 3);
  CHECK(contains(error_of([&] { dataset.take(5); }), "take: 5 of 4 images"));
}
