# SPDX-License-Identifier: Apache-2.0
"""The side of Keras 3, run by the Python that has it:

    peer.py names NAMES.json                what it has
    peer.py answer CASES.json ANSWERS.npz   what it computes for these cases
"""
import json
import sys

import keras
from answers import answer, write
from names import names_of


def main(what, *files):
    if what == "names":
        with open(files[0], "w", encoding="utf-8") as file:
            json.dump({"version": keras.__version__, "backend": keras.backend.backend(), "names": names_of(keras)}, file)
        return
    with open(files[0], encoding="utf-8") as file:
        cases = json.load(file)
    write(files[1], {case["name"]: answer(keras, case) for case in cases})


if __name__ == "__main__":
    main(*sys.argv[1:])
