#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/core/profile.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>
#include <string>

namespace tern {
namespace {

// A label per dimension: a letter, or for the dimensions of "..." the last of the digits '0' to '7', so that
// they meet from the right and come before all letters.
using Labels = std::string;

bool has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

struct Term {
  Tensor x;
  Labels labels;
};

// The labels of `from` for which `keep` holds.
template <class Keep>
Labels chosen(const Labels& from, Keep keep) {
  Labels result;
  std::copy_if(from.begin(), from.end(), std::back_inserter(result), keep);
  return result;
}

Term ordered(const Term& term, const Labels& labels) {
  Shape dims;
  for (const char label : labels) dims.push_back(static_cast<int64_t>(term.labels.find(label)));
  return {labels == term.labels ? term.x : permute(term.x, dims), labels};
}

// Summed over the labels for which `keep` does not hold.
template <class Keep>
Term reduced(const Term& term, Keep keep) {
  const Labels kept = chosen(term.labels, keep);
  if (kept == term.labels) return term;
  Shape dims;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (!has(kept, term.labels[i])) dims.push_back(static_cast<int64_t>(i));
  }
  return {to(sum(term.x, dims), term.x.dtype()), kept};
}

class Einsum {
 public:
  Einsum(std::string_view equation, const std::vector<Tensor>& operands) {
    std::remove_copy(equation.begin(), equation.end(), std::back_inserter(text_), ' ');
    const size_t arrow = text_.find("->");
    read_operands(text_.substr(0, arrow), operands);
    if (arrow == text_.npos)
      choose_result();
    else
      read_result(text_.substr(arrow + 2));
  }

  /// In `dtype`.
  Tensor compute(DType dtype) {
    for (Term& term : terms_) term = prepared({to(term.x, dtype), term.labels});
    Term result = terms_[0];
    for (size_t i = 1; i < terms_.size(); ++i) {
      Labels needed = result_;
      for (size_t k = i + 1; k < terms_.size(); ++k) needed += terms_[k].labels;
      result = contracted(result, terms_[i], needed);
    }
    result = reduced(result, [&](char label) { return has(result_, label); });
    Tensor y = ordered(result, chosen(result_, [&](char label) { return has(result.labels, label); })).x;
    for (size_t i = 0; i < result_.size(); ++i) {
      if (!has(result.labels, result_[i])) y = unsqueeze(y, static_cast<int64_t>(i));
    }
    return y;
  }

 private:
  template <class... Parts>
  void require(bool condition, const Parts&... message) const {
    check(condition, "einsum(\"", text_, "\"): ", message...);
  }

  int64_t& size(char label) { return sizes_[static_cast<unsigned char>(label)]; }

  // `subscript` with "..." replaced by labels for `ellipsis` dimensions.
  Labels expanded(const std::string& subscript, int64_t ellipsis) const {
    Labels labels;
    for (size_t i = 0; i < subscript.size(); ++i) {
      if (subscript.compare(i, 3, "...") == 0) {
        require(subscript.find("...", i + 3) == subscript.npos, "\"...\" occurs twice in ", subscript);
        for (int64_t k = max_dims - ellipsis; k < max_dims; ++k) labels += static_cast<char>('0' + k);
        i += 2;
      } else {
        require(std::isalpha(static_cast<unsigned char>(subscript[i])),
                "letters are a to z and A to Z, got '", subscript[i], "'");
        labels += subscript[i];
      }
    }
    return labels;
  }

  void read_operands(const std::string& subscripts, const std::vector<Tensor>& operands) {
    const auto count = static_cast<size_t>(std::count(subscripts.begin(), subscripts.end(), ',')) + 1;
    require(count == operands.size(), "describes ", count, " operands, got ", operands.size());
    sizes_.fill(1);
    size_t start = 0;
    for (const Tensor& x : operands) {
      require(x.dtype() == operands[0].dtype() && x.dtype() != boolean && x.device() == operands[0].device(),
              "operands must be numbers of one dtype on one device, got ", x.dtype(), " on ", x.device(),
              " and ", operands[0].dtype(), " on ", operands[0].device());
      const size_t end = std::min(subscripts.find(',', start), subscripts.size());
      add_operand(subscripts.substr(start, end - start), x);
      start = end + 1;
    }
  }

  void add_operand(const std::string& subscript, const Tensor& x) {
    const bool open = subscript.find("...") != subscript.npos;
    const int64_t letters = static_cast<int64_t>(subscript.size()) - (open ? 3 : 0);
    require(open ? letters <= x.dim() : letters == x.dim(), "\"", subscript,
            "\" does not name the dimensions of ", x.shape());
    const int64_t ellipsis = open ? x.dim() - letters : 0;
    ellipsis_ = std::max(ellipsis_, ellipsis);
    terms_.push_back({x, expanded(subscript, ellipsis)});
    for (size_t i = 0; i < terms_.back().labels.size(); ++i) {
      int64_t& known = size(terms_.back().labels[i]);
      const int64_t here = x.shape()[static_cast<int64_t>(i)];
      require(known == 1 || here == 1 || known == here, "a dimension is ", known, " and ", here,
              " elements long");
      if (here != 1) known = here;
    }
  }

  Labels all_labels() const {
    Labels all;
    for (const Term& term : terms_) all += term.labels;
    std::sort(all.begin(), all.end());
    return all;
  }

  void choose_result() {
    const Labels all = all_labels();
    result_ = expanded("...", ellipsis_);
    for (const char label : all) {
      if (std::isalpha(static_cast<unsigned char>(label)) && std::count(all.begin(), all.end(), label) == 1)
        result_ += label;
    }
  }

  void read_result(const std::string& subscript) {
    result_ = expanded(subscript, ellipsis_);
    const Labels all = all_labels();
    for (const char label : result_) {
      require(has(all, label), "the result's '", label, "' is in no operand");
      require(std::count(result_.begin(), result_.end(), label) == 1, "'", label,
              "' occurs twice in the result");
    }
  }

  // Each label once (the diagonal of dimensions that share one), those of size 1 dropped.
  Term prepared(Term term) const {
    Labels& labels = term.labels;
    for (size_t i = 0; i < labels.size();) {
      const size_t again = labels.find(labels[i], i + 1);
      if (again == labels.npos) {
        ++i;
        continue;
      }
      const auto first = static_cast<int64_t>(i), second = static_cast<int64_t>(again);
      require(term.x.size(first) == term.x.size(second), "'", labels[i], "' names two sizes of ",
              term.x.shape());
      term.x = diagonal(term.x, 0, first, second);
      labels += labels[i];
      labels.erase(again, 1), labels.erase(i, 1);
    }
    for (size_t i = labels.size(); i-- > 0;) {
      if (term.x.size(static_cast<int64_t>(i)) != 1) continue;
      term.x = squeeze(term.x, static_cast<int64_t>(i));
      labels.erase(i, 1);
    }
    return term;
  }

  Shape shape_of(const Labels& labels) {
    Shape shape;
    for (const char label : labels) shape.push_back(size(label));
    return shape;
  }

  // The sum over the labels that are not needed, of a's times b's elements.
  Term contracted(const Term& left, const Term& right, const Labels& needed) {
    const auto is_needed = [&](char label) { return has(needed, label); };
    const Term a = reduced(left, [&](char label) { return is_needed(label) || has(right.labels, label); });
    const Term b = reduced(right, [&](char label) { return is_needed(label) || has(left.labels, label); });
    const Labels common = chosen(a.labels, [&](char label) { return has(b.labels, label); });
    const Labels batch = chosen(common, is_needed), summed = chosen(common, std::not_fn(is_needed));
    const Labels rows = chosen(a.labels, [&](char label) { return !has(common, label); });
    const Labels columns = chosen(b.labels, [&](char label) { return !has(common, label); });
    const Labels labels = batch + rows + columns;
    require(labels.size() <= max_dims, "a product in between has more than ", max_dims, " dimensions");
    const int64_t n = shape_of(batch).numel(), m = shape_of(rows).numel(), p = shape_of(columns).numel(),
                  k = shape_of(summed).numel();
    const Tensor x = reshape(ordered(a, batch + rows + summed).x, {n, m, k});
    const Tensor y = reshape(ordered(b, batch + summed + columns).x, {n, k, p});
    return {reshape(summed.empty() ? x * y : matmul(x, y), shape_of(labels)), labels};
  }

  std::string text_;
  std::vector<Term> terms_;
  Labels result_;
  std::array<int64_t, 128> sizes_{};
  int64_t ellipsis_ = 0;
};

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands) {
  const OperationScope scope("einsum");
  check(!operands.empty(), "einsum(\"", equation, "\"): needs an operand");
  const DType dtype = operands[0].dtype(), wide = computing_dtype(dtype);
  Einsum einsum(equation, operands);
  return to(einsum.compute(wide), dtype);
}

}  // namespace tern
