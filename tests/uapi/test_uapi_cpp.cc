// SPDX-License-Identifier: Apache-2.0
// The same checks with the headers read as C++.
#include "test_uapi.c"  // NOLINT(bugprone-suspicious-include): one text, two languages
