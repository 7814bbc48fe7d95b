# SPDX-License-Identifier: Apache-2.0
"""Notices about devices, and generators of random numbers: scripts that ask for a GPU run all the same."""
import numpy as np

from pando.core.messages import notice_once


def tell_once(key, message):  # noqa: ARG001
    """A notice, once in a process."""
    notice_once("torch", message)


def tell_cuda():
    tell_once("cuda", "cuda: tensors stay where they are; Pando decides what programs run on (PANDO_BACKEND)")


def without_effect(*_, **__):
    """What a GPU of PyTorch's would do, and nothing has to be done for here."""


class Generator:
    """A source of random numbers of its own."""

    def __init__(self, device="cpu"):  # noqa: ARG002
        self.manual_seed(0)

    def manual_seed(self, seed):
        self._generator, self._seed = np.random.default_rng(abs(int(seed))), int(seed)
        return self

    def initial_seed(self):
        return self._seed
