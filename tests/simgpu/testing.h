// What the tests of the simulated libraries share: memory on a device, and what a child process reports.
#pragma once

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <tern/tests/simgpu/numbers.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace simgpu {

inline void must(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "failed: %s\n", what);
  std::abort();
}
#define MUST(call) ::simgpu::must((call) == 0, #call)

/// Elements in device memory, of the device that was current.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(size_t count) : count_(count) {
    void* memory = nullptr;
    MUST(cudaMalloc(&memory, count * sizeof(T) + (count == 0)));
    data_ = static_cast<T*>(memory);
  }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) { set(values); }
  OnDevice(OnDevice&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  ~OnDevice() { cudaFree(data_); }

  void set(const std::vector<T>& values) {
    MUST(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    MUST(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  T* data() const { return data_; }
  size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  size_t count_;
};

/// Small whole numbers: products and sums of a few of them are exact in every type, so results can be
/// compared exactly.
template <class T>
std::vector<T> small_numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = rounded<T>(static_cast<int>(random() % 7) - 3);
  return values;
}

template <class T>
std::vector<double> as_double(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T& value : values) result.push_back(static_cast<double>(widened(value)));
  return result;
}

/// Runs `body` in a process of its own and gives back what that printed to stderr. A process that reported
/// something ends with a failure, one that did not with success.
inline std::string reports_of(const std::function<void()>& body) {
  int ends[2];
  MUST(pipe(ends));
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);  // doctest's would print a failed test
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    alarm(60);
    body();
    std::exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = read(ends[0], piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK_MESSAGE(text.empty() == (WIFEXITED(status) && WEXITSTATUS(status) == 0), text);
  return text;
}

/// Nothing was printed.
inline bool silent(const std::string& text) {
  if (!text.empty()) MESSAGE(text);
  return text.empty();
}

inline bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("not in: " << text);
  return found;
}

}  // namespace simgpu
