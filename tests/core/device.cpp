#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/core/allocator.h>
#include <tern/core/build_info.h>
#include <tern/tests/core/child_process.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

const Device second(DeviceType::cpu, 1);

bool has_values(const Tensor& x, const std::vector<float>& values) {
  const Tensor plain = to(contiguous(x), Device());
  return std::vector<float>(plain.data<float>(), plain.data<float>() + plain.numel()) == values;
}

}  // namespace

TEST_CASE("devices are written as in PyTorch") {
  CHECK(Device() == Device(DeviceType::cpu, 0));
  CHECK(Device("cpu") == Device());
  CHECK(Device("cpu:0") == Device());
  CHECK(Device(std::string("cpu:0")).is_cpu());
  CHECK_FALSE(Device("cpu").is_cuda());
  CHECK(printed(Device("cpu")) == "cpu:0");
  CHECK(to_string(Device(DeviceType::cuda, 3)) == "cuda:3");
  CHECK(Device() != Device(DeviceType::cuda, 0));
  CHECK(Device() != second);
}

TEST_CASE("any other spelling of a device is an error that repeats it") {
  for (const char* text :
       {"",     ":",     "cpu:",    ":0",      "cpu:-1", "cpu:+0", "cpu: 0",  "cpu:0 ",
        " cpu", "cpu0",  "CPU",     "cpu:0:0", "cpu:x",  "cpu:1x", "cpu:0x1", "cpu:99999999999999999999",
        "gpu",  "cuda:", "cuda:-1", "tpu:0"}) {
    CAPTURE(text);
    const std::string expected =
        "device must be cpu, cpu:N, cuda or cuda:N, got \"" + std::string(text) + "\"";
    CHECK(contains(error_of([&] { Device{text}; }), expected));
  }
}

TEST_CASE("a device that does not exist is an error wherever it comes from") {
  CHECK(contains(error_of([] { Device("cpu:64"); }),
                 "device cpu:64 does not exist: the number of CPU devices is "));
  CHECK_THROWS_AS(empty({2}, float32, Device(DeviceType::cpu, 64)), Error);
  CHECK_THROWS_AS(empty({2}, float32, Device(DeviceType::cpu, -1)), Error);
  CHECK_THROWS_AS(to(counted<float>({2}), Device(DeviceType::cpu, 64)), Error);
  CHECK_THROWS_AS(check_device(Device(DeviceType::cpu, 64)), Error);
  if (built_with_cuda) return;
  CHECK(contains(error_of([] { Device("cuda"); }), "device cuda:0 does not exist: this build has no CUDA"));
  CHECK_THROWS_AS(empty({2}, float32, Device(DeviceType::cuda, 0)), Error);
}

TEST_CASE("child: there is one CPU device" * doctest::skip()) {
  CHECK(cpu_device_count() == 1);
  CHECK(contains(error_of([] { Device("cpu:1"); }),
                 "device cpu:1 does not exist: the number of CPU devices is 1"));
}

TEST_CASE("child: there are three CPU devices" * doctest::skip()) {
  CHECK(cpu_device_count() == 3);
  CHECK(Device("cpu:1") == second);
  CHECK(Device("cpu:2").index == 2);
  CHECK(contains(error_of([] { Device("cpu:3"); }),
                 "device cpu:3 does not exist: the number of CPU devices is 3"));
}

TEST_CASE("child: there are 64 CPU devices" * doctest::skip()) {
  const Tensor x = empty({2}, float32, "cpu:63");
  CHECK(x.device().index == 63);
  CHECK_THROWS_AS(Device("cpu:64"), Error);
}

TEST_CASE("child: TERN_CPU_DEVICES is refused" * doctest::skip()) {
  for (int i = 0; i < 2; ++i)  // the second time too
    CHECK(contains(error_of([] { cpu_device_count(); }), "TERN_CPU_DEVICES must be a number from 1 to 64"));
  CHECK(contains(error_of([] { empty({2}); }), "TERN_CPU_DEVICES must be a number from 1 to 64"));
}

TEST_CASE("the environment says how many CPU devices there are") {
  check_in_child("child: there is one CPU device", {"TERN_CPU_DEVICES="});
  check_in_child("child: there is one CPU device", {"TERN_CPU_DEVICES=1"});
  check_in_child("child: there are three CPU devices", {"TERN_CPU_DEVICES=3"});
  check_in_child("child: there are 64 CPU devices", {"TERN_CPU_DEVICES=64"});
  for (const char* bad : {"0", "65", "-1", "two", "2 ", "1.5", "99999999999"})
    check_in_child("child: TERN_CPU_DEVICES is refused", {std::string("TERN_CPU_DEVICES=") + bad});
}

TEST_CASE("child: tensors live on their device" * doctest::skip()) {
  const MemoryStatistics before = memory_statistics(), before_second = memory_statistics(second);
  const Tensor x = empty({1000}, float32, second);
  CHECK(x.device() == second);
  CHECK(memory_statistics().allocated == before.allocated);
  CHECK(memory_statistics(second).allocated >= before_second.allocated + 4000);
  CHECK(empty_like(x).device() == second);
  CHECK(x.detach().device() == second);
  set_memory_limit(8192, second);
  CHECK(contains(error_of([] { empty({10000}, float32, second); }), "out of memory on cpu:1"));
  CHECK(empty({10000}).device() == Device());
}

TEST_CASE("child: tensors are copied between devices" * doctest::skip()) {
  const Tensor x = counted<float>({2, 3});
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const Tensor there = to(x, "cpu:1");
  CHECK(there.device() == second);
  CHECK(there.data() != x.data());
  CHECK(has_values(there, values));
  CHECK(to(there, second).is_same(there));
  CHECK(to(x, "cpu").is_same(x));
  CHECK(contains(printed(there), "device=cpu:1"));
  CHECK_FALSE(contains(printed(x), "device"));

  const Tensor turned = to(Tensor(x.storage(), x.layout().transpose(0, 1), float32), second);
  CHECK(has_values(turned, {0, 3, 1, 4, 2, 5}));

  const Tensor back = empty({2, 3});
  copy_(back, there);
  CHECK(has_values(back, values));
  back.data<float>()[0] = 9;
  CHECK(has_values(there, values));
}

TEST_CASE("child: operations stay on one device" * doctest::skip()) {
  const Tensor x = counted<float>({3}), there = to(x, second);
  const Tensor sum = there + there;
  CHECK(sum.device() == second);
  CHECK(has_values(sum, {0, 2, 4}));
  const std::string error = error_of([&] { x + there; });
  CHECK(contains(error, "cpu:0"));
  CHECK(contains(error, "cpu:1"));
  CHECK_THROWS_AS(there.set_grad(x), Error);
}

TEST_CASE("several CPU devices keep their tensors apart") {
  for (const char* name : {"child: tensors live on their device", "child: tensors are copied between devices",
                           "child: operations stay on one device"}) {
    CAPTURE(name);
    check_in_child(name, {"TERN_CPU_DEVICES=2"});
  }
}
