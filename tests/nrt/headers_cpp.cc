// SPDX-License-Identifier: Apache-2.0
#include "headers.c"  // NOLINT(bugprone-suspicious-include): one text, two languages
