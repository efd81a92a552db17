// Attention, forward and backward, as cuDNN's pattern and as its operation.
#include <doctest/doctest.h>
#include <tern/tests/simgpu/cudnn/tests/attention.h>
#include <tern/tests/simgpu/cudnn/tests/run.h>

#include <cmath>

using namespace drive;

namespace {

struct Memory {
  Tensor q, k, v, o, stats, bias, d_o, dq, dk, dv;
};

Memory memory_of(const AttentionShape& s) {
  const auto tensor = [&](int64_t uid, int64_t heads, int64_t rows, int64_t columns) {
    return Tensor(uid, {s.batch, heads, rows, columns},
                  {.strides = attention_strides(s, heads, rows, columns), .dtype = s.dtype});
  };
  const auto q = [&](int64_t uid) { return tensor(uid, s.heads, s.queries, s.width); };
  const auto k = [&](int64_t uid) { return tensor(uid, s.key_heads, s.keys, s.width); };
  const auto v = [&](int64_t uid) { return tensor(uid, s.key_heads, s.keys, s.value_width); };
  const auto o = [&](int64_t uid) { return tensor(uid, s.heads, s.queries, s.value_width); };
  return {q(attention_q),
          k(attention_k),
          v(attention_v),
          o(attention_o),
          Tensor(attention_stats, {s.batch, s.heads, s.queries, 1}, {}),
          Tensor(attention_bias, {1, s.heads, s.queries, s.keys}, {.dtype = s.dtype}),
          o(attention_do),
          q(attention_dq),
          k(attention_dk),
          v(attention_dv)};
}

struct Reference {
  Numbers o, stats, dq, dk, dv;
};

Reference reference(const AttentionShape& s, const Memory& m) {
  const Numbers q = random_numbers(m.q), k = random_numbers(m.k), v = random_numbers(m.v),
                g = random_numbers(m.d_o);
  const Numbers bias = random_numbers(m.bias);
  Reference r = {Numbers(g.size()), {}, Numbers(q.size()), Numbers(k.size()), Numbers(v.size())};
  const auto at = [](int64_t head, int64_t row, int64_t rows, int64_t width, int64_t e) {
    return static_cast<size_t>((head * rows + row) * width + e);
  };
  for (int64_t head = 0; head < s.batch * s.heads; head++) {
    const int64_t shared = head / s.heads * s.key_heads + head % s.heads / (s.heads / s.key_heads);
    for (int64_t i = 0; i < s.queries; i++) {
      Numbers p(static_cast<size_t>(s.keys)), dp = p;
      double sum = 0, drop = 0;
      for (int64_t j = 0; j < s.keys; j++) {
        double score = 0;
        for (int64_t e = 0; e < s.width; e++) {
          score += q[at(head, i, s.queries, s.width, e)] * k[at(shared, j, s.keys, s.width, e)];
        }
        score =
            score * (s.scale ? 0.125 : 1) + (s.bias ? bias[at(head % s.heads, i, s.queries, s.keys, j)] : 0);
        p[static_cast<size_t>(j)] = s.causal && j > i ? 0 : std::exp(score);
        sum += p[static_cast<size_t>(j)];
      }
      r.stats.push_back(std::log(sum));
      for (int64_t j = 0; j < s.keys; j++) {
        const auto here = static_cast<size_t>(j);
        p[here] /= sum;
        for (int64_t e = 0; e < s.value_width; e++) {
          const size_t of_v = at(shared, j, s.keys, s.value_width, e),
                       of_o = at(head, i, s.queries, s.value_width, e);
          r.o[of_o] += p[here] * v[of_v];
          r.dv[of_v] += p[here] * g[of_o];
          dp[here] += g[of_o] * v[of_v];
        }
        drop += p[here] * dp[here];
      }
      for (int64_t j = 0; j < s.keys; j++) {
        const auto here = static_cast<size_t>(j);
        const double ds = p[here] * (dp[here] - drop) * (s.scale ? 0.125 : 1);
        for (int64_t e = 0; e < s.width; e++) {
          r.dq[at(head, i, s.queries, s.width, e)] += ds * k[at(shared, j, s.keys, s.width, e)];
          r.dk[at(shared, j, s.keys, s.width, e)] += ds * q[at(head, i, s.queries, s.width, e)];
        }
      }
    }
  }
  return r;
}

void near(const Numbers& got, const Numbers& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); i++) worst = std::max(worst, std::fabs(got[i] - expected[i]));
  CHECK(worst < tolerance);
}

Run& given(Run& run, const AttentionShape& s, const Memory& m) {
  run.input(m.q, random_numbers(m.q)).input(m.k, random_numbers(m.k)).input(m.v, random_numbers(m.v));
  if (s.scale) run.value(attention_scale, 0.125F);
  if (s.bias) run.input(m.bias, random_numbers(m.bias));
  if (s.causal) run.value(attention_infinity, -1e30F);
  return run;
}

const AttentionShape small = {
    .batch = 2, .heads = 4, .key_heads = 4, .queries = 5, .keys = 7, .width = 8, .value_width = 16};

}  // namespace

TEST_CASE("attention's pattern computes the softmax in between") {
  AttentionShape plain = small, causal = small, biased = small, shared = small, inside = small, wide = small;
  causal.causal = true, biased.bias = true, shared.key_heads = 2, inside.heads_inside = true,
  wide.dtype = CUDNN_DATA_BFLOAT16;
  biased.causal = true, plain.scale = false;
  for (const AttentionShape& s : {small, plain, causal, biased, shared, inside, wide}) {
    const Memory m = memory_of(s);
    const Reference r = reference(s, m);
    Run run;
    given(run, s, m).output(m.o).output(m.stats).execute(attention_forward(s));
    // p is rounded to the type of v before it meets v.
    near(run.get(m.o), r.o, s.dtype == CUDNN_DATA_HALF ? 4e-3 : 3e-2);
    near(run.get(m.stats), r.stats, 1e-5);
  }
}

TEST_CASE("attention's operation computes the same") {
  const Memory m = memory_of(small);
  Run run;
  given(run, small, m).output(m.o).output(m.stats).execute(attention_operation(small));
  const Reference r = reference(small, m);
  CHECK(difference(run.get(m.o), r.o, CUDNN_DATA_HALF) == "");
  CHECK(difference(run.get(m.stats), r.stats, CUDNN_DATA_FLOAT) == "");
}

TEST_CASE("attention's gradient, whose k and v are read in two ways") {
  AttentionShape causal = small, biased = small, inside = small;
  causal.causal = true, biased.bias = true, inside.heads_inside = true;
  for (const AttentionShape& s : {small, causal, biased, inside}) {
    const Memory m = memory_of(s);
    const Reference r = reference(s, m);
    Run run;
    given(run, s, m).input(m.o, r.o).input(m.stats, r.stats).input(m.d_o, random_numbers(m.d_o));
    run.output(m.dq).output(m.dk).output(m.dv).execute(attention_backward(s));
    CHECK(run.workspace_bytes() > 0);
    near(run.get(m.dq), r.dq, 2e-2);
    near(run.get(m.dk), r.dk, 2e-2);
    near(run.get(m.dv), r.dv, 2e-2);
  }
}
