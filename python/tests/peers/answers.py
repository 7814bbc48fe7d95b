# SPDX-License-Identifier: Apache-2.0
"""What a module keras answers to a case: arrays by name, or the error that it raises."""
import os
import random
import tempfile
import warnings

import numpy as np

import fit_programs
import layer_programs
import part_programs
import training_programs

PROGRAMS = {**layer_programs.PROGRAMS, **part_programs.PROGRAMS, **training_programs.PROGRAMS, "fits": fit_programs.run}


def answer(keras, case, weights=None):
    """Runs a case in an empty folder. The weights are those that Keras began with; Keras draws them."""
    before = os.getcwd()
    random.seed(1)
    np.random.seed(1)
    keras.utils.set_random_seed(1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            given = PROGRAMS[case["program"]](keras, case, weights)
            return {key: np.asarray(value) for key, value in given.items()}
        except Exception as error:  # pylint: disable=broad-except
            # What one of the two refuses is an answer, too.
            return {"error": np.asarray(f"{type(error).__name__}: {error}")}
        finally:
            os.chdir(before)


def write(path, answers):
    """All answers as one file."""
    np.savez(path, **{f"{case}|{key}": array for case, arrays in answers.items() for key, array in arrays.items()})


def read(path):
    """The answers of a file, by the names of their cases."""
    result = {}
    with np.load(path) as file:
        for name in file.files:
            case, key = name.rsplit("|", 1)
            result.setdefault(case, {})[key] = file[name]
    return result
