# SPDX-License-Identifier: Apache-2.0
"""When two answers are the same."""
import numpy as np

# Both compute in float32. One product in another order differs in the last bits, ten steps of training by some more.
RELATIVE, ABSOLUTE = 2e-4, 2e-5
# What random numbers are like: the means of many draws.
RELATIVE_OF_DRAWS, ABSOLUTE_OF_DRAWS = 0.05, 0.08


def _same(key, keras, pando):
    if keras.dtype.kind in "US" or pando.dtype.kind in "US":
        return keras.shape == pando.shape and bool(np.all(keras == pando))
    if keras.shape != pando.shape:
        return False
    draws = key.startswith(("about", "deviation", "largest"))
    relative, absolute = (RELATIVE_OF_DRAWS, ABSOLUTE_OF_DRAWS) if draws else (RELATIVE, ABSOLUTE)
    if key.startswith(("deviation", "largest")):
        absolute = 0
    return bool(np.allclose(pando.astype(np.float64), keras.astype(np.float64), relative, absolute, equal_nan=True))


def _shown(array):
    text = np.array2string(array, precision=6, threshold=12, edgeitems=3).replace("\n", "")
    return f"{text} {list(array.shape)}" if array.ndim else text


def differences(keras, pando):
    """One line for each part of the answers that is not the same."""
    if "error" in keras and "error" in pando:
        return []
    lines = []
    for key in [*keras, *(key for key in pando if key not in keras)]:
        if key not in keras or key not in pando:
            side, other = ("Keras", keras) if key in keras else ("Pando", pando)
            lines.append(f"only {side} has '{key}': {_shown(other[key])}")
        elif not _same(key, keras[key], pando[key]):
            lines.append(f"'{key}': Keras {_shown(keras[key])}, Pando {_shown(pando[key])}")
    if "error" in keras or "error" in pando:
        return [line for line in lines if "'error'" in line]
    return lines
