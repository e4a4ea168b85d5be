/* SPDX-License-Identifier: Apache-2.0 */
/* Every public header, alone and twice, in the order that shows missing includes. */
#include <nrt/ndebug_stream.h>
#include <nrt/nec.h>
#include <nrt/nrt.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_status.h>
#include <nrt/nrt_sys_trace.h>
#include <nrt/nrt_version.h>

int opennrt_headers_compile(void);
int opennrt_headers_compile(void) {
  return NRT_SUCCESS;
}
