#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/distributed/run_ranks.h>

#include <doctest/doctest.h>

#include <algorithm>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

namespace {

using Values = std::function<double(int64_t)>;

constexpr DType all_dtypes[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};
constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max,
                                ReduceOp::product};
const Shape shapes[] = {{}, {1}, {0, 3}, {5, 3}};

// What one rank brings.
struct Rank {
  Group group;
  DType dtype;
  bool strided;

  int rank() const { return group->rank(); }
  int size() const { return group->size(); }

  // Rank r's element i: small, and another for each rank and place.
  double value(int r, int64_t i) const {
    if (dtype == boolean) return (i >> (r % 3)) & 1;
    const int64_t number = (i * 7 + r * 5) % 11 + (r == 0 ? 1 : 0);
    return static_cast<double>(number) / (is_floating_point(dtype) ? 4 : 1);
  }
  Values values_of(int r, int64_t start = 0) const {
    return [this, r, start](int64_t i) { return value(r, start + i); };
  }

  Values reduced(ReduceOp op, int64_t start = 0) const {
    return [this, op, start](int64_t i) {
      double result = value(0, start + i);
      for (int r = 1; r < size(); ++r) {
        const double next = value(r, start + i);
        if (op == ReduceOp::sum || op == ReduceOp::avg) result += next;
        if (op == ReduceOp::min) result = std::min(result, next);
        if (op == ReduceOp::max) result = std::max(result, next);
        if (op == ReduceOp::product) result *= next;
      }
      if (op == ReduceOp::avg) result /= size();
      return dtype == uint8 ? static_cast<double>(static_cast<int64_t>(result) & 255) : result;
    };
  }

  // A tensor of this dtype, strided or not, with element i = f(i).
  Tensor make(const Shape& shape, const Values& f) const {
    const Tensor values = to(generate<double>(shape, f), dtype);
    if (!strided || shape.dim() == 0) return values;
    Shape wide = shape;
    wide[wide.dim() - 1] = 2 * wide.back() + 1;
    const Tensor x = slice(full(wide, 1, dtype), -1, 1, wide.back(), 2);
    copy_(x, values);
    return x;
  }
  Tensor own(const Shape& shape, int64_t start = 0) const { return make(shape, values_of(rank(), start)); }
  Tensor blank(const Shape& shape) const {
    return make(shape, [](int64_t) { return 1; });
  }

  // Products of many round several times in float32.
  static bool holds(const Tensor& x, const Values& f) {
    const Tensor expected = to(generate<double>(x.shape(), f), x.dtype());
    return x.dtype() == float32 ? allclose(x, expected, 1e-6, 0) : equal(x, expected);
  }
};

// Runs body for every number of ranks, transport, dtype and layout.
void for_each_rank(const std::function<void(const Rank&)>& body) {
  for_each_transport([&](const ProcessGroupOptions& options) {
    for (const int size : {1, 2, 3, 4, 7}) {
      CAPTURE(size);
      const bool few = size != 2 && (size != 3 || !options.shared_memory);
      const auto run = [&](const Group& group) {
        for (const DType dtype : all_dtypes) {
          for (const bool strided : {false, true})
            if (!few || dtype == (strided ? bfloat16 : float32)) body({group, dtype, strided});
        }
      };
      run_ranks(size, run, options);
    }
  });
}

bool is_served(DType dtype, ReduceOp op) {
  if (op == ReduceOp::avg) return is_floating_point(dtype);
  return op != ReduceOp::sum || dtype != boolean;
}

Shape joined(const Shape& shape, int parts) {
  Shape result = shape;
  if (shape.dim() == 0) return {parts};
  result[0] *= parts;
  return result;
}

}  // namespace

TEST_CASE("all_reduce and reduce of every dtype and operation from any layout") {
  for_each_rank([](const Rank& self) {
    for (const ReduceOp op : all_ops) {
      if (!is_served(self.dtype, op)) continue;
      for (const Shape& shape : shapes) {
        Tensor x = self.own(shape);
        all_reduce(x, {.op = op, .group = self.group});
        CHECK(Rank::holds(x, self.reduced(op)));
        const int root = self.size() - 1;
        x = self.own(shape);
        reduce(x, root, {.op = op, .group = self.group});
        CHECK(Rank::holds(x, self.rank() == root ? self.reduced(op) : self.values_of(self.rank())));
      }
    }
  });
}

TEST_CASE("broadcast and scatter reach every rank from each root") {
  for_each_rank([](const Rank& self) {
    for (const Shape& shape : shapes) {
      const int64_t count = shape.numel();
      const int root = static_cast<int>(count) % self.size();
      Tensor x = self.own(shape);
      broadcast(x, root, {.group = self.group});
      CHECK(Rank::holds(x, self.values_of(root)));
      std::vector<Tensor> list;
      for (int r = 0; self.rank() == root && r < self.size(); ++r) list.push_back(self.own(shape, r * count));
      x = self.blank(shape);
      scatter(x, list, root, {.group = self.group});
      CHECK(Rank::holds(x, self.values_of(root, self.rank() * count)));
    }
  });
}

TEST_CASE("gather and both all_gathers bring all ranks' tensors in order") {
  for_each_rank([](const Rank& self) {
    for (const Shape& shape : shapes) {
      const int root = self.size() / 2;
      std::vector<Tensor> list;
      for (int r = 0; r < self.size(); ++r) list.push_back(self.blank(shape));
      all_gather(list, self.own(shape), {.group = self.group});
      for (int r = 0; r < self.size(); ++r)
        CHECK(Rank::holds(list[static_cast<size_t>(r)], self.values_of(r)));

      const int64_t count = std::max<int64_t>(shape.numel(), 1);
      const Tensor out = self.blank(joined(shape, self.size()));
      all_gather_into_tensor(out, self.own(shape), {.group = self.group});
      CHECK(Rank::holds(out, [&](int64_t i) { return self.value(static_cast<int>(i / count), i % count); }));

      for (const Tensor& x : list) zero_(x);
      const bool is_root = self.rank() == root;
      gather(self.own(shape), is_root ? list : std::vector<Tensor>(), root, {.group = self.group});
      for (int r = 0; is_root && r < self.size(); ++r)
        CHECK(Rank::holds(list[static_cast<size_t>(r)], self.values_of(r)));
    }
  });
}

TEST_CASE("both reduce_scatters leave each rank the reduction of its part") {
  for_each_rank([](const Rank& self) {
    const ReduceOp op = self.dtype == boolean ? ReduceOp::max : ReduceOp::sum;
    for (const Shape& shape : shapes) {
      const int64_t count = shape.numel();
      std::vector<Tensor> list;
      for (int r = 0; r < self.size(); ++r) list.push_back(self.own(shape, r * count));
      Tensor out = self.blank(shape);
      reduce_scatter(out, list, {.op = op, .group = self.group});
      CHECK(Rank::holds(out, self.reduced(op, self.rank() * count)));
      out = self.blank(shape);
      reduce_scatter_tensor(out, self.own(joined(shape, self.size())), {.op = op, .group = self.group});
      CHECK(Rank::holds(out, self.reduced(op, self.rank() * count)));
    }
  });
}

TEST_CASE("both all_to_alls send parts of any size") {
  for_each_rank([](const Rank& self) {
    // Rank r sends (r + q) % 3 rows of two to q, which start at 10 q of its values.
    std::vector<Tensor> outs, ins;
    std::vector<int64_t> in_rows, out_rows;
    for (int q = 0; q < self.size(); ++q) {
      in_rows.push_back((self.rank() + q) % 3);
      out_rows.push_back((q + self.rank()) % 3);
      ins.push_back(self.own({in_rows.back(), 2}, 10 * q));
      outs.push_back(self.blank({out_rows.back(), 2}));
    }
    all_to_all(outs, ins, {.group = self.group});
    for (int q = 0; q < self.size(); ++q)
      CHECK(Rank::holds(outs[static_cast<size_t>(q)], self.values_of(q, 10 * self.rank())));

    const auto sum = [](const std::vector<int64_t>& rows) {
      int64_t result = 0;
      for (const int64_t count : rows) result += count;
      return result;
    };
    const Tensor in = self.blank({sum(in_rows), 2}), out = self.blank({sum(out_rows), 2});
    for (int64_t q = 0, row = 0; q < self.size(); row += in_rows[static_cast<size_t>(q++)])
      copy_(narrow(in, 0, row, in_rows[static_cast<size_t>(q)]), ins[static_cast<size_t>(q)]);
    all_to_all_single(out, in,
                      {.output_split_sizes = out_rows, .input_split_sizes = in_rows, .group = self.group});
    for (int64_t q = 0, row = 0; q < self.size(); row += out_rows[static_cast<size_t>(q++)])
      CHECK(equal(narrow(out, 0, row, out_rows[static_cast<size_t>(q)]), outs[static_cast<size_t>(q)]));

    const Tensor even = self.blank({self.size()});
    all_to_all_single(even, self.own({self.size()}), {.group = self.group});
    CHECK(Rank::holds(even, [&](int64_t q) { return self.value(static_cast<int>(q), self.rank()); }));
  });
}

TEST_CASE("messages go around a ring, in order, into tensors of other layouts") {
  for_each_rank([](const Rank& self) {
    if (self.size() == 1) return;
    const int to = (self.rank() + 1) % self.size(), from = (self.rank() + self.size() - 1) % self.size();
    for (const Shape& shape : shapes) {
      const auto first = send(self.own(shape), to, {.group = self.group, .async_op = true});
      const auto second = send(self.own(shape, 100), to, {.group = self.group, .async_op = true});
      Tensor x = self.blank({shape.numel()});
      recv(x, from, {.group = self.group});
      CHECK(Rank::holds(x, self.values_of(from)));
      x = self.blank(shape);
      recv(x, from, {.group = self.group});
      CHECK(Rank::holds(x, self.values_of(from, 100)));
      first->wait();
      second->wait();
    }
    barrier({.group = self.group});
  });
}

TEST_CASE("tensors of many pieces") {
  for_each_transport([](const ProcessGroupOptions& options) {
    for (const int size : {2, 3, 4}) {
      const auto run = [](const Group& group) {
        const Rank self{group, float32, false};
        const Shape shape = {150'001};
        Tensor x = self.own(shape);
        all_reduce(x, {.group = group});
        CHECK(Rank::holds(x, self.reduced(ReduceOp::sum)));
        x = self.own(shape);
        broadcast(x, 1, {.group = group});
        CHECK(Rank::holds(x, self.values_of(1)));
        const Tensor all = self.own({group->size(), shape[0]});
        reduce_scatter_tensor(x, all, {.group = group});
        CHECK(Rank::holds(x, self.reduced(ReduceOp::sum, group->rank() * shape[0])));
        all_to_all_single(all, all, {.group = group});
        const auto expected = [&](int64_t i) {
          return self.value(static_cast<int>(i / shape[0]), group->rank() * shape[0] + i % shape[0]);
        };
        CHECK(Rank::holds(all, expected));
        const int peer = group->rank() ^ 1;
        if (peer >= group->size()) return;
        const auto sending = send(self.own(shape), peer, {.group = group, .async_op = true});
        recv(x, peer, {.group = group});
        CHECK(Rank::holds(x, self.values_of(peer)));
        sending->wait();
      };
      run_ranks(size, run, options);
    }
  });
}
