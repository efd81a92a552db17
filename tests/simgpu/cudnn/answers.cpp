#include <tern/tests/simgpu/cudnn/answers.h>
#include <tern/tests/simgpu/cudnn/engines.h>

#include <algorithm>

namespace simdnn {
namespace {

struct Answer {
  int64_t count = 0;
  std::vector<unsigned char> bytes;
  std::vector<std::shared_ptr<const Descriptor>> descriptors;
};

template <class T>
Answer answer_of(const std::vector<T>& values) {
  Answer answer = {static_cast<int64_t>(values.size()), {}, {}};
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  answer.bytes.assign(bytes, bytes + values.size() * sizeof(T));
  return answer;
}

Descriptor::Value value_of(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name,
                           const void* bytes, std::shared_ptr<const Descriptor> descriptor = nullptr) {
  const Attribute* attribute = find_attribute(owner, name);
  Descriptor::Value value = {attribute, attribute->type, 1, {}, {}};
  const auto* begin = static_cast<const unsigned char*>(bytes);
  value.bytes.assign(begin, begin + attribute_size(attribute->type));
  if (descriptor != nullptr) value.descriptors = {std::move(descriptor)};
  return value;
}

/// A finalised engine configuration of an engine that the heuristics found.
std::shared_ptr<const Descriptor> configuration(const Descriptor& heuristics, const Engine& found) {
  const void* nothing = nullptr;
  auto engine = std::make_shared<Descriptor>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  const auto& graph = heuristics.values.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).descriptors.front();
  engine->values[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] =
      value_of(engine->type, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, &nothing, graph);
  engine->values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] =
      value_of(engine->type, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &found.index);
  engine->graph = graph->graph;
  engine->capability = heuristics.capability;
  engine->is_finalized = true;
  auto result = std::make_shared<Descriptor>();
  result->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  result->values[CUDNN_ATTR_ENGINECFG_ENGINE] =
      value_of(result->type, CUDNN_ATTR_ENGINECFG_ENGINE, &nothing, std::move(engine));
  result->is_finalized = true;
  return result;
}

Answer heuristics_results(const Descriptor& descriptor) {
  Answer answer;
  const OperationGraph& graph = *descriptor.descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->graph;
  std::vector<Engine> found = engines_of(graph, descriptor.capability);
  const auto mode = descriptor.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  // The fallback list has the engines that need no compilation.
  if (mode == CUDNN_HEUR_MODE_FALLBACK) {
    found.erase(
        std::remove_if(found.begin(), found.end(), [](const Engine& engine) { return engine.compiles; }),
        found.end());
  }
  if (found.empty()) remember("no engine: " + why_no_engine(graph, descriptor.capability));
  for (const Engine& engine : found) answer.descriptors.push_back(configuration(descriptor, engine));
  answer.count = static_cast<int64_t>(found.size());
  return answer;
}

Engine engine_of(const Descriptor& engine) {
  return find_engine(*engine.graph, engine.capability, engine.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
}

/// What is answered without having been set.
Answer computed(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return heuristics_results(descriptor);
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return answer_of<int64_t>(
          {static_cast<int64_t>(engines_of(*descriptor.graph, simgpu::compute_capability()).size())});
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
      return answer_of<int64_t>(
          {engine_of(*descriptor.descriptor(CUDNN_ATTR_ENGINECFG_ENGINE)).workspace_bytes});
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
      return answer_of<int64_t>({0});
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return answer_of<int64_t>({descriptor.plan->engine.workspace_bytes});
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return answer_of(engine_of(descriptor).notes);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      if (engine_of(descriptor).compiles) {
        return answer_of<cudnnBackendBehaviorNote_t>({CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION});
      }
      return {};
    default:
      return {};  // optional attributes that weren't set, notes and knobs that no engine has
  }
}

}  // namespace

void get_attribute(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t room, int64_t* count, void* values) {
  const Attribute* attribute = find_attribute(descriptor.type, name);
  demand(attribute != nullptr,
         descriptor_name(descriptor.type) + " has no attribute " + std::to_string(name));
  demand(descriptor.is_finalized, CUDNN_STATUS_NOT_INITIALIZED,
         std::string(attribute->text) + " is asked for before the descriptor is finalised");
  const auto set = descriptor.values.find(name);
  const cudnnBackendAttributeType_t expected =
      set == descriptor.values.end() ? attribute->type : set->second.type;
  demand(type == expected, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
         std::string(attribute->text) + " has another type than " + std::to_string(type));
  demand(room >= 0, "room for " + std::to_string(room) + " elements");
  const Answer answer = set == descriptor.values.end()
                            ? computed(descriptor, name)
                            : Answer{set->second.count, set->second.bytes, set->second.descriptors};
  if (count != nullptr) *count = values == nullptr ? answer.count : std::min(room, answer.count);
  const auto given = static_cast<size_t>(std::min(room, answer.count));
  if (values == nullptr || given == 0) return;
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    std::memcpy(values, answer.bytes.data(), given * attribute_size(type));
    return;
  }
  for (size_t i = 0; i < given; i++) {
    const auto target = simdnn::descriptors().get(static_cast<void* const*>(values)[i]);
    demand(!target->is_finalized && target->type == answer.descriptors[i]->type,
           std::string(attribute->text) + " goes into descriptors of its type that are not finalised");
    *target = *answer.descriptors[i];
  }
}

}  // namespace simdnn
