#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the arrays of a safetensors file, read by NumPy alone from the description of the format.

Usage: read_safetensors.py FILE
"""
import json
import struct
import sys

import numpy

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
         "BOOL": "?", "BF16": "<u2"}

with open(sys.argv[1], "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
    data = file.read()
assert length % 8 == 0
metadata = header.pop("__metadata__", {})
for name, entry in sorted(header.items()):
    begin, end = entry["data_offsets"]
    array = numpy.frombuffer(data[begin:end], TYPES[entry["dtype"]])
    assert begin % array.itemsize == 0
    if entry["dtype"] == "BF16":
        array = (array.astype("<u4") << 16).view("<f4")
    print(name, entry["dtype"], entry["shape"], array.reshape(entry["shape"]).tolist())
print("metadata", sorted(metadata.items()))
