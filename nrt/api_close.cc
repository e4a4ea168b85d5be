// SPDX-License-Identifier: Apache-2.0
// nrt_close stands alone: the header says void, the developer guide says status, and clients of
// both exist. A function that returns 0 serves either, but cannot see the header's declaration.
#include "nrt/runtime.h"

extern "C" __attribute__((visibility("default"))) int nrt_close(void);

extern "C" int nrt_close(void) {
  (void)api_call("nrt_close", [] {
    runtime_close();
    return NRT_SUCCESS;
  });
  return 0;
}
