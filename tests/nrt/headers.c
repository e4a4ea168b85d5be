/* SPDX-License-Identifier: Apache-2.0 */
/* Every public header twice, the ones that need others first: shows missing includes. */
/* clang-format off */
#include <nrt/nec.h>
#include <nrt/nec.h>
#include <nrt/ndebug_stream.h>
#include <nrt/ndebug_stream.h>
#include <nrt/nrt_sys_trace.h>
#include <nrt/nrt_sys_trace.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_version.h>
#include <nrt/nrt_version.h>
#include <nrt/nrt.h>
#include <nrt/nrt.h>
#include <nrt/nrt_status.h>
#include <nrt/nrt_status.h>
/* clang-format on */

int opennrt_headers_compile(void);
int opennrt_headers_compile(void) {
  return NRT_SUCCESS;
}
