// The C++ peer of bench/handlers: the same handlers on XLA's own binding library, xla/ffi/api/ffi.h.
//
// Fairness. Compiled with g++ -O3 -DNDEBUG against the header of the newest jaxlib. The implementations are passed as
// `Ffi::Wrapper<fn>`, the header's own way to let the compiler inline them (a plain function pointer is slower), and
// ranks and dtypes are static (`BufferR1<F32>`), so that the binding checks them itself. The peer checks no more than
// an author would write: dtype, rank, equal sizes. Ours checks alignment, null data, overlap of arguments and results
// and UTF-8 as well, contains panics, and takes a batch; none of this is charged to the peer. (Building the handler at
// namespace level and calling it without the macro's guard and virtual call saves another 20 instructions; XLA documents
// no such spelling, and it is not used.)

#include <cstdint>
#include <string_view>

#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

using In = ffi::BufferR1<ffi::F32>;
using Out = ffi::ResultBufferR1<ffi::F32>;

static ffi::Error One(In x, Out y) {
  int64_t n = x.dimensions()[0];
  if (y->dimensions()[0] != n) {
    return ffi::Error::InvalidArgument("one: \"x\" and \"y\" differ in size");
  }
  if (n > 0) y->typed_data()[0] = x.typed_data()[0];
  return ffi::Error::Success();
}

static ffi::Error Six(In x, In x2, In x3, float eps, int64_t k, bool up, std::string_view mode, Out y) {
  int64_t n = x.dimensions()[0];
  if (x2.dimensions()[0] != n || x3.dimensions()[0] != n || y->dimensions()[0] != n) {
    return ffi::Error::InvalidArgument("six: \"x\", \"x2\", \"x3\" and \"y\" differ in size");
  }
  if (n > 0) {
    y->typed_data()[0] = x.typed_data()[0] + eps + static_cast<float>(k) + static_cast<float>(up) +
                         static_cast<float>(mode.size());
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(one, ffi::Ffi::Wrapper<One>(), ffi::Ffi::Bind().Arg<In>().Ret<In>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(six, ffi::Ffi::Wrapper<Six>(),
                              ffi::Ffi::Bind()
                                  .Arg<In>()
                                  .Arg<In>()
                                  .Arg<In>()
                                  .Attr<float>("eps")
                                  .Attr<int64_t>("k")
                                  .Attr<bool>("up")
                                  .Attr<std::string_view>("mode")
                                  .Ret<In>());

// The floor: answers XLA's query for metadata, and returns at once from every other call.
extern "C" XLA_FFI_Error* floor_handler(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) {
    auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
    extension->metadata->api_version.major_version = 0;
    extension->metadata->api_version.minor_version = 1;
  }
  return nullptr;
}
