#include <tern/tests/simgpu/cudnn/tests/attention.h>
#include <tern/tests/simgpu/cudnn/tests/support_cases.h>

namespace drive {

std::vector<SupportCase> attention_cases() {
  std::vector<SupportCase> cases;
  const std::pair<const char*, Graph (*)(const AttentionShape&)> graphs[] = {
      {"forward", attention_forward}, {"backward", attention_backward}, {"operation", attention_operation}};
  for (const auto& [kind, build] : graphs) {
    for (const cudnnDataType_t t : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT}) {
      const auto add = [&, name = std::string(kind), make = build](const std::string& text,
                                                                   AttentionShape shape) {
        shape.dtype = t;
        cases.push_back({"attention " + name + ", " + name_of(t) + ", " + text, [=] { return make(shape); }});
      };
      add("plain", {});
      add("no scale", {.scale = false});
      if (build != attention_backward) add("no statistics", {.stats = false});
      add("heads inside", {.heads_inside = true});
      add("odd lengths", {.queries = 13, .keys = 29});
      add("longer keys", {.queries = 16, .keys = 128});
      add("one query", {.queries = 1, .keys = 64});
      if (build != attention_backward) add("shared keys", {.heads = 4, .key_heads = 2});
      add("width 8", {.width = 8, .value_width = 8});
      add("width 20", {.width = 20, .value_width = 20});
      add("width 128", {.width = 128, .value_width = 128});
      add("width 136", {.width = 136, .value_width = 136});
      add("width 256", {.width = 256, .value_width = 256});
      add("width 264", {.width = 264, .value_width = 264});
      add("widths 192 and 128", {.width = 192, .value_width = 128});
      if (build == attention_operation) continue;
      add("causal", {.causal = true});
      add("bias", {.bias = true});
      add("bias and causal", {.bias = true, .causal = true});
    }
  }
  return cases;
}

}  // namespace drive
