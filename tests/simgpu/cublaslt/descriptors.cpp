// Making, reading and destroying cuBLASLt's descriptors.
#include <tern/tests/simgpu/cublaslt/attributes.h>

#include <atomic>

using namespace simgpu::cublaslt;

namespace {

constexpr Attribute layout_attributes[] = {
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, Layout, columns),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, Layout, leading),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batch_count),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, batch_stride),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, Layout, plane_offset),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, Layout, batch_mode),
};

constexpr Attribute operation_attributes[] = {
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, Operation, compute),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, Operation, scale),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, Operation, pointer_mode),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, Operation, op_a),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, Operation, op_b),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, Operation, op_c),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FILL_MODE, Operation, fill_mode),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, Operation, epilogue),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, Operation, bias),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, Operation, bias_stride),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, Operation, aux),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, Operation, aux_leading),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, Operation, aux_stride),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, Operation, alpha_stride),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, Operation, sm_count),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, Operation, scale_a),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, Operation, scale_b),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, Operation, scale_c),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, Operation, scale_d),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, Operation, largest_d),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, Operation, aux_type),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, Operation, scale_aux),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, Operation, largest_aux),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FAST_ACCUM, Operation, fast_accumulation),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, Operation, bias_type),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, Operation, mode_a),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, Operation, mode_b),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, Operation, mode_c),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, Operation, mode_d),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, Operation, mode_aux),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, Operation, scale_d_out),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, Operation, mode_d_out),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, Operation, emulation),
};

constexpr Attribute preference_attributes[] = {
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, search_mode),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, workspace),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reduction_mask),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, alignment_a),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, alignment_b),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, alignment_c),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, alignment_d),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, Preference, waves),
    SIMGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, Preference, implementation_mask),
};

template <class Fields>
std::atomic<int64_t>& living() {
  static auto* count = [] {
    auto* made = new std::atomic<int64_t>(0);
    simgpu::at_exit_check(Fields::kind, [made] { return made->load(); });
    return made;
  }();
  return *count;
}

template <class Fields>
cublasStatus_t initialise(void* descriptor, size_t size, const Fields& values) {
  if (!descriptor || size < sizeof(Fields)) return CUBLAS_STATUS_ALLOC_FAILED;
  std::memset(descriptor, 0, size);
  *static_cast<Fields*>(descriptor) = values;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Fields, class Opaque>
cublasStatus_t create(Opaque** descriptor, const Fields& values) {
  if (!descriptor) return CUBLAS_STATUS_INVALID_VALUE;
  if (simgpu::injected("cublaslt_create")) return CUBLAS_STATUS_ALLOC_FAILED;
  *descriptor = new Opaque;
  ++living<Fields>();
  return initialise(*descriptor, sizeof(Opaque), values);
}

/// The memory stays, so that a later use is seen.
template <class Fields>
cublasStatus_t destroy(void* descriptor, const char* call) {
  Fields* all = fields<Fields>(descriptor, call);
  if (!all) return CUBLAS_STATUS_INVALID_VALUE;
  all->mark = Mark::dead;
  --living<Fields>();
  return CUBLAS_STATUS_SUCCESS;
}

Layout layout_of(cudaDataType type, uint64_t rows, uint64_t columns, int64_t leading) {
  return {.type = static_cast<uint32_t>(type), .rows = rows, .columns = columns, .leading = leading};
}

Operation operation_of(cublasComputeType_t compute, cudaDataType_t scale) {
  return {.compute = compute, .scale = scale};
}

}  // namespace

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t columns,
                                                 int64_t leading) {
  return initialise(layout, size, layout_of(type, rows, columns, leading));
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  return create(layout, layout_of(type, rows, columns, leading));
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy<Layout>(layout, "cublasLtMatrixLayoutDestroy");
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t number, const void* value,
                                                size_t size) {
  return set_attribute<Layout>(layout, "cublasLtMatrixLayoutSetAttribute", layout_attributes, number, value,
                               size);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t number, void* value,
                                                size_t size, size_t* written) {
  return get_attribute<Layout>(layout, "cublasLtMatrixLayoutGetAttribute", layout_attributes, number, value,
                               size, written);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  return initialise(operation, size, operation_of(compute, scale));
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  return create(operation, operation_of(compute, scale));
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return destroy<Operation>(operation, "cublasLtMatmulDescDestroy");
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t number, const void* value,
                                              size_t size) {
  return set_attribute<Operation>(operation, "cublasLtMatmulDescSetAttribute", operation_attributes, number,
                                  value, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t number, void* value, size_t size,
                                              size_t* written) {
  return get_attribute<Operation>(operation, "cublasLtMatmulDescGetAttribute", operation_attributes, number,
                                  value, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t size) {
  return initialise(preference, size, Preference{});
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, Preference{});
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<Preference>(preference, "cublasLtMatmulPreferenceDestroy");
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t number,
                                                    const void* value, size_t size) {
  return set_attribute<Preference>(preference, "cublasLtMatmulPreferenceSetAttribute", preference_attributes,
                                   number, value, size);
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t number, void* value,
                                                    size_t size, size_t* written) {
  return get_attribute<Preference>(preference, "cublasLtMatmulPreferenceGetAttribute", preference_attributes,
                                   number, value, size, written);
}
