# SPDX-License-Identifier: Apache-2.0
"""Ops that run in programs only: their attributes reach them."""
import numpy as np
import pytest

from pando import _core
from pando.core import dispatch


def run(name, arrays, **attributes):
    """The op as a program of its own."""
    return _core.TensorProgram(name, lambda symbols: [dispatch.traced(name, symbols, attributes, "")])(arrays)[0]


VOLUME = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(1, 2, 3, 4, 5)


def test_a_filter_of_one_place_moves_a_volume():
    kernel = np.zeros((2, 1, 2, 5, 5), np.float32)
    kernel[1, 0, 1] = np.eye(5)
    found = run("conv3d", [VOLUME, kernel], strides=[1, 2, 1], dilations=[1, 1, 2], padding=[0, 1, 0, 0, 0, 2])
    expected = np.zeros((1, 2, 2, 4, 5), np.float32)
    expected[:, :1, :, :2] = VOLUME[:, 1:, ::2, 2:]
    np.testing.assert_array_equal(found, expected)
    back = run("conv3d_transpose", [found, kernel], strides=[1, 2, 1], dilations=[1, 1, 2], padding=[0, 1, 0, 0, 0, 2],
               output_size=[2, 3, 4])
    np.testing.assert_array_equal(back[:, 1, ::2, 2:], VOLUME[:, 1, ::2, 2:])
    assert back.shape == VOLUME.shape and back.sum() == VOLUME[:, 1, ::2, 2:].sum()


def test_groups_of_a_volume_keep_to_themselves():
    found = run("conv3d", [VOLUME, np.ones((2, 1, 1, 1, 5), np.float32)], groups=5)
    np.testing.assert_array_equal(found, VOLUME.sum(axis=1, keepdims=True))


def test_volumes_are_pooled_along_all_axes():
    attributes = {"window": [2, 3, 2], "strides": [1, 1, 2], "padding": "valid"}
    blocks = VOLUME[0].reshape(2 * 3, 2, 2, 5)
    np.testing.assert_array_equal(run("max_pool3d", [VOLUME], **attributes)[0, 0, 0], blocks.max(axis=(0, 2)))
    np.testing.assert_allclose(run("average_pool3d", [VOLUME], **attributes)[0, 0, 0], blocks.mean(axis=(0, 2)))
    padded = run("average_pool3d", [VOLUME], window=[1, 1, 2], padding=[0, 0, 0, 0, 1, 1], count_padding=True)
    np.testing.assert_array_equal(padded[..., 0, :], VOLUME[..., 0, :] / 2)


def test_windows_may_have_gaps():
    image = VOLUME[0]
    found = run("max_pool", [image], window=[1, 2], strides=[1, 1], dilations=[1, 3])
    np.testing.assert_array_equal(found, image[:, :, 3:])
    with pytest.raises(_core.Error, match="average_pool: the dilations are 1 and 3 but must be 1 and 1"):
        run("average_pool", [image], window=[1, 2], dilations=[1, 3])
    with pytest.raises(ValueError, match="the padding is 'full' but must be 'valid', 'same' or 6 sizes"):
        run("max_pool3d", [VOLUME], padding="full")


def test_random_numbers_are_those_of_their_counter():
    def draw(name, update, **attributes):
        return run(name, [np.array([update, 0], np.int64)], shape=[1000], seed=5, stream=2, **attributes)
    uniform, normal = draw("random_uniform", 3, low=2.0, high=4.0), draw("random_normal", 3, mean=7.0, deviation=0.5)
    assert uniform.min() >= 2 and uniform.max() < 4 and abs(uniform.mean() - 3) < 0.1
    assert abs(normal.mean() - 7) < 0.1 and abs(normal.std() - 0.5) < 0.1
    np.testing.assert_array_equal(uniform, draw("random_uniform", 3, low=2.0, high=4.0))
    assert (uniform != draw("random_uniform", 4, low=2.0, high=4.0)).any()
