// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/dtype_kernels.h"

const mock_dtype_kernels_t mock_dtype_portable = kernel_table();
