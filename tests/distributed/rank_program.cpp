// The program that check_ternrun.py starts: a rank that does what its arguments say, one after the other.
//
// - init [METHOD [RANK WORLD]]: init_process_group, by env:// if nothing is said
// - who: the local rank and the backend; sum: all_reduce of rank + 1
// - groups: new_group of the even ranks, and of all in reverse; sums in both
// - again: destroy_process_group and init_process_group, three times
// - steps FILE N: a small training; rank 0 writes FILE after each step, and all go on from it at the start
// - ddp STEPS: trains 12 samples, divided among the ranks, and says the sum of the weights
// - say TEXT, complain TEXT: a line on standard output, on standard error
// - on RANK …  end: what follows on this rank only; first … end: only before any restart
// - exit CODE, kill, stop; later SECONDS and one of these: by another thread
// - sleep SECONDS; child SECONDS, hidden SECONDS: a child that does so, in a session of its own
#include <tern/tern.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>

#include <unistd.h>

using namespace tern;
using namespace tern::distributed;

namespace {

using Arguments = std::vector<std::string>;

double sum_of(double value, const std::shared_ptr<ProcessGroup>& group = nullptr) {
  const Tensor x = full({3}, value);
  all_reduce(x, {.group = group});
  return x.data<float>()[2];
}

InitOptions settings;

// Words of `rest` that belong to init.
void init(Arguments& rest) {
  settings.timeout = std::chrono::milliseconds(std::stoi(process_variable("TIMEOUT_MS").value_or("20000")));
  settings.backend = process_variable("BACKEND").value_or("gloo");
  if (!rest.empty() && rest[0].find("://") != std::string::npos) {
    settings.init_method = rest[0];
    rest.erase(rest.begin());
    if (rest.size() >= 2 && std::isdigit(static_cast<unsigned char>(rest[0][0]))) {
      settings.rank = std::stoi(rest[0]);
      settings.world_size = std::stoi(rest[1]);
      rest.erase(rest.begin(), rest.begin() + 2);
    }
  }
  init_process_group(settings);
}

void say(const std::string& line) { std::cout << line << std::endl; }

void groups() {
  const int world = get_world_size();
  std::vector<int> even, reverse;
  for (int rank = 0; rank < world; rank += 2) even.push_back(rank);
  for (int rank = world; rank-- > 0;) reverse.push_back(rank);
  const auto some = new_group(even), all = new_group(reverse);
  if (get_rank(some) >= 0) {
    say("even " + std::to_string(get_rank(some)) + " sum " +
        std::to_string(static_cast<int>(sum_of(get_rank(), some))));
  } else {
    try {
      sum_of(1, some);
    } catch (const Error& error) {
      say("even refused: " + std::string(error.what()));
    }
  }
  say("reverse " + std::to_string(get_rank(all)) + " sum " +
      std::to_string(static_cast<int>(sum_of(1, all))));
}

void ddp(int64_t steps) {
  nn::Sequential net(nn::Linear(4, 5), nn::Tanh(), nn::Linear(5, 2));
  net.to(float64);
  for (const Tensor& parameter : net.parameters()) {
    const Tensor values = to(cos(arange(parameter.numel())), float64) + get_rank();
    parameter.set_data(reshape(values, parameter.shape()));
  }
  nn::DistributedDataParallel model(net);
  optim::AdamW optimizer(model.parameters(), {.lr = 0.01});
  const Tensor x = reshape(to(sin(arange(48)), float64), {12, 4});
  for (int64_t step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const int64_t rows = 12 / get_world_size();
    backward(mean(square(model(narrow(x, 0, get_rank() * rows, rows)))));
    optimizer.step();
  }
  double total = 0;
  for (const Tensor& parameter : net.parameters()) total += sum(square(parameter.detach())).item<double>();
  say("weights " + std::to_string(total));
}

void again() {
  for (int i = 0; i < 3; ++i) {
    destroy_process_group();
    init_process_group(settings);
    say("again " + std::to_string(static_cast<int>(sum_of(1))));
  }
}

// w <- w + mean over ranks of (rank + step) / (64 + w), from 1.
void steps(const std::string& file, int count) {
  Tensor w = full({1}, 1.0, float64);
  int64_t step = 0;
  if (std::filesystem::exists(file)) {
    const auto state = load_safetensors(file).tensors;
    w = state.at("w");
    step = state.at("step").item<int64_t>();
  }
  for (; step < count; ++step) {
    const Tensor change =
        full({1}, static_cast<double>(get_rank() + step) / (64 + w.item<double>()), float64);
    all_reduce(change, {.op = ReduceOp::avg});
    w = full({1}, w.item<double>() + change.item<double>(), float64);
    if (get_rank() == 0) save_safetensors(file, {{"w", w}, {"step", tensor({step + 1})}});
    barrier();
  }
  if (get_rank() == 0) std::printf("result %a after %d\n", w.item<double>(), count);
}

std::string take(Arguments& rest) {
  check(!rest.empty(), "an argument is missing");
  std::string first = rest.front();
  rest.erase(rest.begin());
  return first;
}

std::chrono::duration<double> seconds(Arguments& rest) {
  return std::chrono::duration<double>(std::stod(take(rest)));
}

// A child that does not mind SIGTERM.
void start_child(const std::string& time, bool hidden) {
  if (::fork() != 0) return;
  if (hidden) ::setsid();
  std::signal(SIGTERM, SIG_IGN);
  ::execlp("sleep", "sleep", time.c_str(), nullptr);
}

void later(Arguments& rest) {
  const auto time = seconds(rest);
  const std::string action = take(rest);
  const int code = action == "exit" ? std::stoi(take(rest)) : 0;
  std::thread([=] {
    std::this_thread::sleep_for(time);
    if (action == "exit") ::_exit(code);
    ::kill(::getpid(), action == "kill" ? SIGKILL : SIGSTOP);
  }).detach();
}

void skip(Arguments& rest) {
  while (take(rest) != "end") continue;
}

using Action = std::function<void(Arguments& rest)>;

const std::map<std::string, Action> actions = {
    {"init", init},
    {"sum", [](Arguments&) { say("sum " + std::to_string(static_cast<int>(sum_of(get_rank() + 1)))); }},
    {"who", [](Arguments&) { say("local " + std::to_string(get_local_rank()) + " of " + get_backend()); }},
    {"groups", [](Arguments&) { groups(); }},
    {"again", [](Arguments&) { again(); }},
    {"say", [](Arguments& rest) { say(take(rest)); }},
    {"later", later},
    {"complain", [](Arguments& rest) { std::cerr << take(rest) << std::endl; }},
    {"steps",
     [](Arguments& rest) {
       const std::string file = take(rest);
       steps(file, std::stoi(take(rest)));
     }},
    {"ddp", [](Arguments& rest) { ddp(std::stoi(take(rest))); }},
    {"on",
     [](Arguments& rest) {
       if (take(rest) != process_variable("RANK").value_or("")) skip(rest);
     }},
    {"first",
     [](Arguments& rest) {
       if (get_restart_count() > 0) skip(rest);
     }},
    {"end", [](Arguments&) {}},
    {"exit", [](Arguments& rest) { std::exit(std::stoi(take(rest))); }},
    {"kill", [](Arguments&) { ::raise(SIGKILL); }},
    {"stop", [](Arguments&) { ::raise(SIGSTOP); }},
    {"sleep", [](Arguments& rest) { std::this_thread::sleep_for(seconds(rest)); }},
    {"child", [](Arguments& rest) { start_child(take(rest), false); }},
    {"hidden", [](Arguments& rest) { start_child(take(rest), true); }},
};

void run(Arguments rest) {
  while (!rest.empty()) {
    const std::string word = take(rest);
    const auto action = actions.find(word);
    check(action != actions.end(), "unknown action ", word);
    action->second(rest);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return train::run_program([&] {
    run(Arguments(argv + 1, argv + argc));
    destroy_process_group();
    return 0;
  });
}
