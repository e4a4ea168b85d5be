#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads a NEFF through libnrt.so.1 and prints its tensors, as load_tensors.c does.

    NEURON_RT_MOCK=always python3 load_tensors.py model.neff

The library is the one LIBNRT names; without it the system's, else that of this checkout's build
directory. Needs nothing but Python.
"""

import ctypes
import os
import pathlib
import sys

DTYPES = ("unknown", "uint64", "int8", "uint8", "int16", "uint16", "bfloat16", "float16",
          "int32", "uint32", "float32", "fp32r", "int64", "fp8_e3", "fp8_e4", "fp8_e5")


class TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 256),
        ("usage", ctypes.c_uint32),
        ("size", ctypes.c_size_t),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.POINTER(ctypes.c_uint32)),
        ("ndim", ctypes.c_uint32),
    ]


class TensorInfoArray(ctypes.Structure):
    # The rows follow the count.
    _fields_ = [("tensor_count", ctypes.c_uint64)]


def find_library():
    if os.environ.get("LIBNRT"):
        return ctypes.CDLL(os.environ["LIBNRT"])
    try:
        return ctypes.CDLL("libnrt.so.1")
    except OSError:
        built = pathlib.Path(__file__).resolve().parent.parent / "build" / "libnrt.so.1"
        if not built.exists():
            raise
        return ctypes.CDLL(str(built))


def open_library():
    try:
        nrt = find_library()
    except OSError as error:
        raise SystemExit(f"no runtime library: {error} (LIBNRT=PATH names one)") from None
    nrt.nrt_load.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_int32,
                             ctypes.POINTER(ctypes.c_void_p)]
    nrt.nrt_unload.argtypes = [ctypes.c_void_p]
    nrt.nrt_get_model_tensor_info.argtypes = [
        ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(TensorInfoArray))]
    nrt.nrt_free_model_tensor_info.argtypes = [ctypes.POINTER(TensorInfoArray)]
    return nrt


def check(what, status):
    if status != 0:
        raise SystemExit(f"{what}: status {status}")


def print_tensors(nrt, model):
    info = ctypes.POINTER(TensorInfoArray)()
    check("nrt_get_model_tensor_info", nrt.nrt_get_model_tensor_info(model, ctypes.byref(info)))
    rows = ctypes.addressof(info.contents) + ctypes.sizeof(TensorInfoArray)
    for row in (TensorInfo * info.contents.tensor_count).from_address(rows):
        dtype = DTYPES[row.dtype] if row.dtype < len(DTYPES) else "unknown"
        shape = ",".join(str(row.shape[i]) for i in range(row.ndim))
        print("output" if row.usage else "input", row.name.decode(), dtype, f"[{shape}]", row.size)
    check("nrt_free_model_tensor_info", nrt.nrt_free_model_tensor_info(info))


def main():
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} FILE.neff")
    try:
        neff = pathlib.Path(sys.argv[1]).read_bytes()
    except OSError as error:
        raise SystemExit(f"{sys.argv[1]}: {error.strerror}") from None
    nrt = open_library()
    check("nrt_init", nrt.nrt_init(1, b"", b""))
    try:
        model = ctypes.c_void_p()
        check("nrt_load", nrt.nrt_load(neff, len(neff), -1, -1, ctypes.byref(model)))
        print_tensors(nrt, model)
        check("nrt_unload", nrt.nrt_unload(model))
    finally:
        nrt.nrt_close()


if __name__ == "__main__":
    main()
