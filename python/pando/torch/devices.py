# SPDX-License-Identifier: Apache-2.0
"""torch.device, torch.cuda and torch.backends: one machine, whose virtual IPUs Pando chooses. Scripts that ask for a GPU
run all the same; one notice says so."""
import logging
import types

_told = set()


def tell_once(key, message):
    """A warning of the logger "torch", once in a process."""
    if key not in _told:
        _told.add(key)
        logging.getLogger("torch").warning(message)


def tell_cuda():
    tell_once("cuda", "cuda: tensors stay where they are; Pando decides what programs run on (PANDO_BACKEND)")


class Generator:
    """A source of random numbers of its own."""

    def __init__(self, device="cpu"):  # noqa: ARG002
        import numpy as np
        self._generator = np.random.default_rng(0)

    def manual_seed(self, seed):
        import numpy as np
        self._generator = np.random.default_rng(seed)
        self._seed = seed
        return self

    def initial_seed(self):
        return getattr(self, "_seed", 0)


def _module(name, **contents):
    made = types.ModuleType(f"pando.torch.{name}")
    made.__dict__.update(contents)
    return made


def _nothing(*_, **__):
    return None


cuda = _module("cuda", is_available=lambda: False, device_count=lambda: 0, manual_seed=_nothing,
               manual_seed_all=_nothing, synchronize=_nothing, empty_cache=_nothing, current_device=lambda: 0,
               memory_allocated=lambda *_: 0, max_memory_allocated=lambda *_: 0, is_initialized=lambda: False,
               get_device_name=lambda *_: "none", set_device=_nothing)
cuda.__doc__ = "There is no CUDA device for tensors; programs run on GPUs if PANDO_BACKEND says so."
backends = _module("backends", cudnn=_module("backends.cudnn", benchmark=False, deterministic=True, enabled=False),
                   mps=_module("backends.mps", is_available=lambda: False, is_built=lambda: False),
                   cuda=_module("backends.cuda", matmul=types.SimpleNamespace(allow_tf32=False)))
mps = _module("mps", is_available=lambda: False)
