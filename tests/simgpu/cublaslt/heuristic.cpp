// Asking for algorithms, and what is said about them.
#include <tern/tests/simgpu/cublaslt/algorithm.h>
#include <tern/tests/simgpu/cublaslt/attributes.h>
#include <tern/tests/simgpu/cublaslt/handle.h>

#include <algorithm>

using namespace simgpu::cublaslt;

namespace {

constexpr Attribute configuration[] = {
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_ID, Algorithm, kind),
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_TILE_ID, Algorithm, tile),
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, Algorithm, splits),
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, Algorithm, reduction),
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, Algorithm, swizzling),
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, Algorithm, custom),
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_STAGES_ID, Algorithm, stages),
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, Algorithm, inner_shape),
    SIMGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, Algorithm, cluster_shape),
};

cublasLtMatmulHeuristicResult_t result_of(const Algorithm& chosen, const Problem& problem) {
  cublasLtMatmulHeuristicResult_t result = {};
  std::memcpy(&result.algo, &chosen, sizeof chosen);
  result.workspaceSize = workspace_of(chosen.kind, problem);
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = static_cast<float>(problem.rows() * problem.columns()) / (128.0f * 128.0f * 132.0f);
  return result;
}

}  // namespace

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  const char* call = "cublasLtMatmulAlgoGetHeuristic";
  if (requested <= 0 || !results || !returned) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  cublasStatus_t status = check(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  Problem problem;
  const auto* wishes = fields<Preference>(preference, call);
  if (!wishes || !read_problem(problem, call, operation, a, b, c, d)) return CUBLAS_STATUS_INVALID_VALUE;
  status = check_support(problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (simgpu::injected("cublaslt_heuristic")) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const Algorithm& chosen : algorithms_for(problem, *wishes)) {
    if (*returned < requested) results[(*returned)++] = result_of(chosen, problem);
  }
  return *returned > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  const char* call = "cublasLtMatmulAlgoCheck";
  cublasStatus_t status = check(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const Algorithm* chosen = algorithm(algo);
  Problem problem;
  if (!chosen || !result || !read_problem(problem, call, operation, a, b, c, d))
    return CUBLAS_STATUS_INVALID_VALUE;
  status = check_support(problem);
  if (status == CUBLAS_STATUS_SUCCESS && chosen->types != types_of(problem))
    status = CUBLAS_STATUS_NOT_SUPPORTED;
  const cublasLtMatmulAlgo_t kept = result->algo;
  *result = result_of(*chosen, problem);
  result->algo = kept;
  return result->state = status;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t number, void* value,
                                                    size_t size, size_t* written) {
  const Attribute* attribute = find(configuration, number);
  if (!algorithm(algo) || !attribute) return CUBLAS_STATUS_INVALID_VALUE;
  if (size == 0 ? !written : !value || size != attribute->size) return CUBLAS_STATUS_INVALID_VALUE;
  if (written) *written = attribute->size;
  if (size > 0) std::memcpy(value, reinterpret_cast<const char*>(algo) + attribute->offset, size);
  return CUBLAS_STATUS_SUCCESS;
}
