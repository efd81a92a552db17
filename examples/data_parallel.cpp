// One model on all devices of this process, after PyTorch's tutorial "Data Parallelism":
//   TERN_CPU_DEVICES=4 data_parallel
// shows a virtual CPU as four. Each device gets its share of every batch; outside, nothing shows of it.
#include <tern/tern.h>

#include <sstream>

using namespace tern;

constexpr int64_t input_size = 5, output_size = 2, batch_size = 30, data_size = 100;

// "<where>: input size [30, 5] output size [30, 2]", in one piece: several threads write.
void print_sizes(const std::string& where, const Tensor& input, const Tensor& output) {
  std::ostringstream text;
  text << where << ": input size " << input.shape() << " output size " << output.shape();
  train::print_line(text.str());
}

struct RandomDataset {
  Tensor data = randn({data_size, input_size});
  int64_t size() const { return data.size(0); }
  Tensor get(int64_t index) const { return select(data, 0, index); }
};

class Model : public nn::Layer<Model> {
 public:
  Tensor forward(const Tensor& input) {
    const Tensor output = fc(input);
    print_sizes("\tIn Model", input, output);
    return output;
  }
  void members(nn::Visitor& visitor) override { visitor.module("fc", fc); }
  nn::Linear fc{input_size, output_size};
};

int main() {
  return train::run_program([] {
    const std::vector<Device> devices = nn::parallel::all_devices();
    data::DataLoader rand_loader(RandomDataset(), {.batch_size = batch_size, .shuffle = true});
    nn::DataParallel model{Model()};
    model.to(devices[0]);
    if (devices.size() > 1) train::print_line("Let's use " + std::to_string(devices.size()) + " devices!");
    for (const Tensor& data : rand_loader) {
      const Tensor input = to(data, devices[0]);
      const Tensor output = model(input);
      print_sizes("Outside", input, output);
    }
    return 0;
  });
}
