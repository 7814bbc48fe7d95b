// SPDX-License-Identifier: Apache-2.0
// The interpreter in a program that was compiled with the thread sanitizer, whose runtime must be there from the start:
// an ordinary python3 cannot load a module that needs it.
#include <Python.h>

int main(int count, char** words) { return Py_BytesMain(count, words); }
