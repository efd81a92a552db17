// The names of CUDA's errors, and what the usual ones mean.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/api.h>

#include <string_view>

namespace simgpu {
namespace {

struct ErrorText {
  cudaError_t error;
  const char *name, *meaning;
};

// clang-format off
#define NAMED(error) {error, #error, #error}  // the meaning is the name
#define MEANS(error, meaning) {error, #error, meaning}
constexpr ErrorText error_texts[] = {
  MEANS(cudaSuccess, "no error"),
  MEANS(cudaErrorInvalidValue, "invalid argument"),
  MEANS(cudaErrorMemoryAllocation, "out of memory"),
  NAMED(cudaErrorInitializationError),
  NAMED(cudaErrorCudartUnloading),
  NAMED(cudaErrorProfilerDisabled),
  NAMED(cudaErrorProfilerNotInitialized),
  NAMED(cudaErrorProfilerAlreadyStarted),
  NAMED(cudaErrorProfilerAlreadyStopped),
  MEANS(cudaErrorInvalidConfiguration, "invalid configuration argument"),
  NAMED(cudaErrorInvalidPitchValue),
  MEANS(cudaErrorInvalidSymbol, "invalid device symbol"),
  NAMED(cudaErrorInvalidHostPointer),
  NAMED(cudaErrorInvalidDevicePointer),
  NAMED(cudaErrorInvalidTexture),
  NAMED(cudaErrorInvalidTextureBinding),
  NAMED(cudaErrorInvalidChannelDescriptor),
  NAMED(cudaErrorInvalidMemcpyDirection),
  NAMED(cudaErrorAddressOfConstant),
  NAMED(cudaErrorTextureFetchFailed),
  NAMED(cudaErrorTextureNotBound),
  NAMED(cudaErrorSynchronizationError),
  NAMED(cudaErrorInvalidFilterSetting),
  NAMED(cudaErrorInvalidNormSetting),
  NAMED(cudaErrorMixedDeviceExecution),
  NAMED(cudaErrorNotYetImplemented),
  NAMED(cudaErrorMemoryValueTooLarge),
  NAMED(cudaErrorStubLibrary),
  NAMED(cudaErrorInsufficientDriver),
  NAMED(cudaErrorCallRequiresNewerDriver),
  NAMED(cudaErrorInvalidSurface),
  NAMED(cudaErrorDuplicateVariableName),
  NAMED(cudaErrorDuplicateTextureName),
  NAMED(cudaErrorDuplicateSurfaceName),
  NAMED(cudaErrorDevicesUnavailable),
  NAMED(cudaErrorIncompatibleDriverContext),
  NAMED(cudaErrorMissingConfiguration),
  NAMED(cudaErrorPriorLaunchFailure),
  NAMED(cudaErrorLaunchMaxDepthExceeded),
  NAMED(cudaErrorLaunchFileScopedTex),
  NAMED(cudaErrorLaunchFileScopedSurf),
  NAMED(cudaErrorSyncDepthExceeded),
  NAMED(cudaErrorLaunchPendingCountExceeded),
  MEANS(cudaErrorInvalidDeviceFunction, "invalid device function"),
  MEANS(cudaErrorNoDevice, "no CUDA-capable device is detected"),
  MEANS(cudaErrorInvalidDevice, "invalid device ordinal"),
  NAMED(cudaErrorDeviceNotLicensed),
  NAMED(cudaErrorSoftwareValidityNotEstablished),
  NAMED(cudaErrorStartupFailure),
  NAMED(cudaErrorInvalidKernelImage),
  NAMED(cudaErrorDeviceUninitialized),
  NAMED(cudaErrorMapBufferObjectFailed),
  NAMED(cudaErrorUnmapBufferObjectFailed),
  NAMED(cudaErrorArrayIsMapped),
  NAMED(cudaErrorAlreadyMapped),
  MEANS(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
  NAMED(cudaErrorAlreadyAcquired),
  NAMED(cudaErrorNotMapped),
  NAMED(cudaErrorNotMappedAsArray),
  NAMED(cudaErrorNotMappedAsPointer),
  MEANS(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
  NAMED(cudaErrorUnsupportedLimit),
  NAMED(cudaErrorDeviceAlreadyInUse),
  NAMED(cudaErrorPeerAccessUnsupported),
  NAMED(cudaErrorInvalidPtx),
  NAMED(cudaErrorInvalidGraphicsContext),
  NAMED(cudaErrorNvlinkUncorrectable),
  NAMED(cudaErrorJitCompilerNotFound),
  NAMED(cudaErrorUnsupportedPtxVersion),
  NAMED(cudaErrorJitCompilationDisabled),
  NAMED(cudaErrorUnsupportedExecAffinity),
  NAMED(cudaErrorUnsupportedDevSideSync),
  NAMED(cudaErrorContained),
  NAMED(cudaErrorInvalidSource),
  NAMED(cudaErrorFileNotFound),
  NAMED(cudaErrorSharedObjectSymbolNotFound),
  NAMED(cudaErrorSharedObjectInitFailed),
  NAMED(cudaErrorOperatingSystem),
  MEANS(cudaErrorInvalidResourceHandle, "invalid resource handle"),
  NAMED(cudaErrorIllegalState),
  NAMED(cudaErrorLossyQuery),
  NAMED(cudaErrorSymbolNotFound),
  MEANS(cudaErrorNotReady, "device not ready"),
  MEANS(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
  MEANS(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
  NAMED(cudaErrorLaunchTimeout),
  NAMED(cudaErrorLaunchIncompatibleTexturing),
  MEANS(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
  MEANS(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
  NAMED(cudaErrorSetOnActiveProcess),
  NAMED(cudaErrorContextIsDestroyed),
  MEANS(cudaErrorAssert, "device-side assert triggered"),
  NAMED(cudaErrorTooManyPeers),
  NAMED(cudaErrorHostMemoryAlreadyRegistered),
  NAMED(cudaErrorHostMemoryNotRegistered),
  NAMED(cudaErrorHardwareStackError),
  NAMED(cudaErrorIllegalInstruction),
  MEANS(cudaErrorMisalignedAddress, "misaligned address"),
  NAMED(cudaErrorInvalidAddressSpace),
  NAMED(cudaErrorInvalidPc),
  MEANS(cudaErrorLaunchFailure, "unspecified launch failure"),
  NAMED(cudaErrorCooperativeLaunchTooLarge),
  NAMED(cudaErrorTensorMemoryLeak),
  NAMED(cudaErrorNotPermitted),
  MEANS(cudaErrorNotSupported, "operation not supported"),
  NAMED(cudaErrorSystemNotReady),
  NAMED(cudaErrorSystemDriverMismatch),
  NAMED(cudaErrorCompatNotSupportedOnDevice),
  NAMED(cudaErrorMpsConnectionFailed),
  NAMED(cudaErrorMpsRpcFailure),
  NAMED(cudaErrorMpsServerNotReady),
  NAMED(cudaErrorMpsMaxClientsReached),
  NAMED(cudaErrorMpsMaxConnectionsReached),
  NAMED(cudaErrorMpsClientTerminated),
  NAMED(cudaErrorCdpNotSupported),
  NAMED(cudaErrorCdpVersionMismatch),
  MEANS(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
  MEANS(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
  NAMED(cudaErrorStreamCaptureMerge),
  NAMED(cudaErrorStreamCaptureUnmatched),
  NAMED(cudaErrorStreamCaptureUnjoined),
  NAMED(cudaErrorStreamCaptureIsolation),
  NAMED(cudaErrorStreamCaptureImplicit),
  NAMED(cudaErrorCapturedEvent),
  NAMED(cudaErrorStreamCaptureWrongThread),
  NAMED(cudaErrorTimeout),
  NAMED(cudaErrorGraphExecUpdateFailure),
  NAMED(cudaErrorExternalDevice),
  NAMED(cudaErrorInvalidClusterSize),
  NAMED(cudaErrorFunctionNotLoaded),
  NAMED(cudaErrorInvalidResourceType),
  NAMED(cudaErrorInvalidResourceConfiguration),
  MEANS(cudaErrorUnknown, "unknown error"),
  NAMED(cudaErrorApiFailureBase),
};
#undef MEANS
#undef NAMED
// clang-format on

thread_local cudaError_t last = cudaSuccess;

const ErrorText& text_of(cudaError_t error) {
  static constexpr ErrorText unknown = {cudaErrorUnknown, "unrecognized error code",
                                        "unrecognized error code"};
  for (const ErrorText& text : error_texts) {
    if (text.error == error) return text;
  }
  return unknown;
}

}  // namespace

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last = error;
  return error;
}

cudaError_t last_error(bool forget) {
  const cudaError_t lasting =
      device_count() == 0 ? cudaSuccess : device_number(current_device_number()).error;
  const cudaError_t result = lasting != cudaSuccess ? lasting : last;
  if (forget) last = cudaSuccess;
  return result;
}

cudaError_t injected_error(const char* name) {
  const std::string_view call = name;
  const bool allocates = call.find("Malloc") != call.npos || call == "cudaHostAlloc";
  return allocates ? cudaErrorMemoryAllocation : cudaErrorUnknown;
}

}  // namespace simgpu

using namespace simgpu;

extern "C" {

const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }

const char* cudaGetErrorString(cudaError_t error) { return text_of(error).meaning; }

cudaError_t cudaGetLastError() {
  const Locked lock;
  return last_error(true);
}

cudaError_t cudaPeekAtLastError() {
  const Locked lock;
  return last_error(false);
}

}  // extern "C"
