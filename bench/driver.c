// Calls handlers over a hand-made call frame, as XLA 0.12 lays it out, and says what a call costs.
//
//   driver PEER OURS                 nanoseconds, in interleaved rounds, and allocations a call
//   driver PEER OURS WHICH COUNT     COUNT calls of one handler (peer:one, ours:six, ...), for callgrind
//
// PEER and OURS are shared libraries: the peer exports its handlers by name, ours through `oxidax_manifest`.
// Output: one line `name nanoseconds allocations` a handler.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xla/ffi/api/c_api.h"

enum { ROUNDS = 201, CALLS = 20000, LENGTH = 16 };

// ---- allocations: the symbols of the executable win over libc's, in every library it loads

static unsigned long allocations;

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return allocations++, __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return allocations++, __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return allocations++, __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) { return allocations++, __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return allocations++, __libc_memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out ? 0 : 12;
}

// ---- the runtime's side of the API: what a handler may ask for on the path measured here is an error object

static XLA_FFI_Error* create_error(XLA_FFI_Error_Create_Args* args) {
  fprintf(stderr, "driver: a handler failed: %s\n", args->message);
  exit(1);
}

static XLA_FFI_Api api = {
    .struct_size = XLA_FFI_Api_STRUCT_SIZE,
    .api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, NULL, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR},
    .XLA_FFI_Error_Create = create_error,
};

// ---- frames

static float data[4][LENGTH] __attribute__((aligned(64)));
static int64_t dims[1] = {LENGTH};

#define BUFFER(k) {XLA_FFI_Buffer_STRUCT_SIZE, NULL, XLA_FFI_DataType_F32, data[k], 1, dims}
static XLA_FFI_Buffer buffers[4] = {BUFFER(0), BUFFER(1), BUFFER(2), BUFFER(3)};
static XLA_FFI_ArgType arg_types[3] = {XLA_FFI_ArgType_BUFFER, XLA_FFI_ArgType_BUFFER, XLA_FFI_ArgType_BUFFER};
static XLA_FFI_RetType ret_types[1] = {XLA_FFI_RetType_BUFFER};
static void* args[3] = {&buffers[0], &buffers[1], &buffers[2]};
static void* rets[1] = {&buffers[3]};

// XLA sorts attributes by name.
static float eps = 0.5f;
static int64_t k = 3;
static char up = 1;
static XLA_FFI_ByteSpan mode = {"abc", 3};
static XLA_FFI_Scalar eps_attr = {XLA_FFI_DataType_F32, &eps}, k_attr = {XLA_FFI_DataType_S64, &k},
                      up_attr = {XLA_FFI_DataType_PRED, &up};
static XLA_FFI_ByteSpan names[4] = {{"eps", 3}, {"k", 1}, {"mode", 4}, {"up", 2}};
static XLA_FFI_ByteSpan* name_pointers[4] = {&names[0], &names[1], &names[2], &names[3]};
static XLA_FFI_AttrType attr_types[4] = {XLA_FFI_AttrType_SCALAR, XLA_FFI_AttrType_SCALAR, XLA_FFI_AttrType_STRING,
                                         XLA_FFI_AttrType_SCALAR};
static void* attrs[4] = {&eps_attr, &k_attr, &mode, &up_attr};

static XLA_FFI_CallFrame frame_of(int num_args, int num_attrs) {
  return (XLA_FFI_CallFrame){
      .struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .api = &api,
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
      .args = {XLA_FFI_Args_STRUCT_SIZE, NULL, num_args, arg_types, args},
      .rets = {XLA_FFI_Rets_STRUCT_SIZE, NULL, 1, ret_types, rets},
      .attrs = {XLA_FFI_Attrs_STRUCT_SIZE, NULL, num_attrs, attr_types, name_pointers, attrs},
  };
}

// ---- the two libraries

// Version 1 of the manifest of an Oxidax library.
typedef struct {
  const char *target, *platform;
  void *instantiate, *prepare, *initialize, *execute;
} OxidaxHandler;
typedef struct {
  uint32_t version, reserved;
  const char* json;
  size_t json_len;
  const OxidaxHandler* handlers;
  size_t num_handlers;
} OxidaxManifest;

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "driver: %s\n", dlerror());
    exit(1);
  }
  return library;
}

static XLA_FFI_Handler* find(void* value, const char* name) {
  if (!value) {
    fprintf(stderr, "driver: no handler %s\n", name);
    exit(1);
  }
  return (XLA_FFI_Handler*)value;
}

static XLA_FFI_Handler* peer_handler(void* library, const char* symbol) { return find(dlsym(library, symbol), symbol); }

static XLA_FFI_Handler* our_handler(void* library, const char* name) {
  const OxidaxManifest* (*manifest_of)(void) = (const OxidaxManifest* (*)(void))dlsym(library, "oxidax_manifest");
  const OxidaxManifest* manifest = manifest_of ? manifest_of() : NULL;
  for (size_t i = 0; manifest && i < manifest->num_handlers; ++i) {
    const char* dot = strrchr(manifest->handlers[i].target, '.');
    if (dot && !strcmp(dot + 1, name)) return find(manifest->handlers[i].execute, name);
  }
  return find(NULL, name);
}

typedef struct {
  const char* name;
  XLA_FFI_Handler* call;
  XLA_FFI_CallFrame frame;
  double nanoseconds[ROUNDS];
  unsigned long allocations;
} Case;

// What XLA asks at registration.
static void query_metadata(const Case* c) {
  XLA_FFI_Metadata metadata = {.struct_size = XLA_FFI_Metadata_STRUCT_SIZE,
                               .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE}};
  XLA_FFI_Metadata_Extension extension = {
      .extension_base = {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, NULL},
      .metadata = &metadata,
  };
  XLA_FFI_CallFrame frame = {.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
                             .extension_start = &extension.extension_base,
                             .api = &api,
                             .stage = XLA_FFI_ExecutionStage_EXECUTE};
  if (c->call(&frame) || metadata.api_version.minor_version < 1) {
    fprintf(stderr, "driver: %s does not answer the query for metadata\n", c->name);
    exit(1);
  }
}

static void call(const Case* c, long count) {
  XLA_FFI_Handler* volatile pointer = c->call;
  XLA_FFI_Handler* handler = pointer;
  XLA_FFI_CallFrame frame = c->frame;
  for (long i = 0; i < count; ++i) {
    if (handler(&frame)) exit(1);
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) {
    fprintf(stderr, "usage: driver PEER OURS [WHICH COUNT]\n");
    return 2;
  }
  void *peer = open_library(argv[1]), *ours = open_library(argv[2]);
  Case cases[] = {
      {"floor", peer_handler(peer, "floor_handler"), frame_of(1, 0), {0}, 0},
      {"peer:one", peer_handler(peer, "one"), frame_of(1, 0), {0}, 0},
      {"ours:one", our_handler(ours, "one"), frame_of(1, 0), {0}, 0},
      {"peer:six", peer_handler(peer, "six"), frame_of(3, 4), {0}, 0},
      {"ours:six", our_handler(ours, "six"), frame_of(3, 4), {0}, 0},
  };
  int num_cases = sizeof cases / sizeof *cases;

  for (int i = 0; i < LENGTH; ++i) data[0][i] = 7;
  for (int c = 0; c < num_cases; ++c) {
    query_metadata(&cases[c]);
    data[3][0] = -1;
    call(&cases[c], 1);
    float expected = c == 0 ? -1 : strstr(cases[c].name, "one") ? 7 : 7 + 0.5f + 3 + 1 + 3;
    if (data[3][0] != expected) {
      fprintf(stderr, "driver: %s wrote %g, not %g\n", cases[c].name, data[3][0], expected);
      return 1;
    }
  }

  if (argc == 5) {
    for (int c = 0; c < num_cases; ++c) {
      if (!strcmp(cases[c].name, argv[3])) return call(&cases[c], atol(argv[4])), 0;
    }
    fprintf(stderr, "driver: no handler %s\n", argv[3]);
    return 2;
  }

  for (int round = 0; round < ROUNDS; ++round) {
    for (int c = 0; c < num_cases; ++c) {
      unsigned long before = allocations;
      double start = now();
      call(&cases[c], CALLS);
      cases[c].nanoseconds[round] = (now() - start) / CALLS;
      cases[c].allocations += allocations - before;
    }
  }
  for (int c = 0; c < num_cases; ++c) {
    qsort(cases[c].nanoseconds, ROUNDS, sizeof(double), ascending);
    printf("%s %.3f %.4f\n", cases[c].name, cases[c].nanoseconds[ROUNDS / 2],
           (double)cases[c].allocations / ROUNDS / CALLS);
  }
  return 0;
}
