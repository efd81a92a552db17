// After its first steps, training neither calls the system's heap nor touches new memory: all that a step
// needs is kept for the next. A program of its own, since it replaces malloc.
#include <tern/tern.h>
#include <tern/tests/support/heap_count.h>
#include <tern/tests/support/synthetic.h>

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
  nn::Sequential model = nn::models::cifar_cnn();
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

TEST_CASE("steady steps of every optimizer, with losses and clipped gradients, make no heap call") {
  if (!counts_heap()) return;
  const Tensor logits = rand({64, 5}).requires_grad_();
  const std::vector<Tensor> parameters{logits};
  optim::Adam adam(parameters, {.weight_decay = 0.1, .amsgrad = true});
  optim::RMSprop rmsprop(parameters, {.momentum = 0.9, .centered = true});
  optim::Adagrad adagrad(parameters);
  optim::Lion lion(parameters);
  const Tensor target = rand({64, 5}), labels = randint(0, 5, {64});
  int64_t before = 0;
  for (int step = -3; step < 3; ++step) {
    if (step == 0) before = heap_calls();
    adam.zero_grad();
    const Tensor y = leaky_relu(logits), logs = log_softmax(y, 1);
    backward(mse_loss(y, target) + binary_cross_entropy_with_logits(y, target) + nll_loss(logs, labels) +
             kl_div(logs, target) + cross_entropy(y, target));
    optim::clip_grad_norm_(parameters, 1e-3);
    optim::clip_grad_value_(parameters, 1e-4);
    adam.step(), rmsprop.step(), adagrad.step(), lion.step();
  }
  CHECK(heap_calls() == before);
}
