// After its first steps, training neither calls the system's heap nor touches new memory: all that a step
// needs is kept for the next. A program of its own, since it replaces malloc.
#include <tern/tern.h>
#include <tern/tests/support/heap_count.h>
#include <tern/tests/support/tutorial.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

struct Asked {
  int64_t heap_calls, page_faults;
};

// What `steps` training steps ask for after three that warm up.
Asked ask(int threads, int steps) {
  set_num_threads(threads);
  nn::Sequential model = tutorial_cnn();
  nn::CrossEntropyLoss loss_function;
  optim::SGD optimizer(model.parameters(), {.lr = 0.01, .momentum = 0.9});
  const Batch batch = synthetic_batch(0);
  const Tensor images = contiguous(batch.images, MemoryFormat::channels_last);
  Asked before = {};
  for (int step = -3; step < steps; ++step) {
    if (step == 0) before = {heap_calls(), page_faults()};
    optimizer.zero_grad();
    const Tensor loss = loss_function(model(images), batch.labels);
    backward(loss);
    optimizer.step();
  }
  return {heap_calls() - before.heap_calls, page_faults() - before.page_faults};
}

}  // namespace

TEST_CASE("the counter counts") {
  if (!counts_heap()) return;
  const int64_t before = heap_calls();
  const std::string long_text(1000, 'x');
  CHECK(long_text.size() == 1000);
  CHECK(heap_calls() > before);
}

TEST_CASE("a steady training step makes no heap call and no page fault") {
  if (!counts_heap()) return;
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    const Asked asked = ask(threads, 5);
    CHECK(asked.heap_calls == 0);
    CHECK(asked.page_faults == 0);
  }
}
