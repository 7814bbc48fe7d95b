# SPDX-License-Identifier: Apache-2.0
"""What takes the place of some functions of PyTorch while it is traced."""
import contextlib
import warnings

import torch


@contextlib.contextmanager
def unfused():
    """While a module is traced, ops that only one library or processor has are what they are made of, and dropout is one op."""
    with contextlib.ExitStack() as stack:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*TF32.*")    # of settings that stay what they are
            stack.enter_context(torch.backends.mkldnn.flags(enabled=False))
            stack.enter_context(torch.backends.cudnn.flags(enabled=False))
        with contextlib.suppress(ImportError):
            from torch.nn.attention import SDPBackend, sdpa_kernel
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        replaced = [(torch._VF, "dropout", _dropout), (torch._VF, "feature_dropout", _feature_dropout),
                    (torch._VF, "dropout_", _in_place(_dropout)), (torch._VF, "feature_dropout_", _in_place(_feature_dropout))]
        if torch.__version__ < "2":    # functionalize leaves these as they are
            replaced += [(torch.Tensor, "bernoulli_", _bernoulli_), (torch.Tensor, "uniform_", _uniform_),
                         (torch.Tensor, "normal_", _normal_)]
        for owner, name, function in replaced:
            setattr(owner, name, function)
            stack.callback(delattr, owner, name)
        losses = torch._C._nn
        stack.callback(setattr, losses, "cross_entropy_loss", losses.cross_entropy_loss)
        losses.cross_entropy_loss = _cross_entropy_of(losses.cross_entropy_loss)
        yield


def _cross_entropy_of(pytorch):
    """PyTorch's cross entropy; with label smoothing its own code (1.13) makes tensors that are not fake."""
    def cross_entropy(x, target, weight, reduction, ignored, smoothing):
        if smoothing == 0 or target.is_floating_point():
            return pytorch(x, target, weight, reduction, ignored, smoothing)
        axis = 1 if x.dim() > 1 else 0
        logarithms = torch.log_softmax(x, axis)
        weights = torch.ones_like(x.select(axis, 0)) if weight is None else torch.nn.functional.embedding(
            target.clamp(min=0), weight[:, None]).squeeze(-1)
        weights = torch.where(target != ignored, weights, torch.zeros_like(weights))
        weighted = logarithms if weight is None else logarithms * weight.reshape([-1] + [1] * (x.dim() - 1 - axis))
        smooth = torch.where(target != ignored, -weighted.sum(axis), torch.zeros_like(weights))
        if reduction:
            smooth = smooth.sum() if reduction == 2 else smooth.sum() / weights.sum()
        plain = torch._C._nn.nll_loss_nd(logarithms, target, weight, reduction, ignored)
        return plain * (1 - smoothing) + smooth * (smoothing / x.shape[axis])
    return cross_entropy


def _dropout(x, p=0.5, train=True):
    return torch.ops.aten.native_dropout(x, p, True)[0] if train and p else x


def _feature_dropout(x, p=0.5, train=True):
    """Whole channels are dropped."""
    return x * _dropout(x.new_ones([*x.shape[:2], *[1] * (x.dim() - 2)]), p, train) if train and p else x


def _in_place(function):
    return lambda x, p=0.5, train=True: x.copy_(function(x, p, train)) if train and p else x


def _bernoulli_(self, p=0.5, *, generator=None):
    probabilities = p.expand_as(self) if isinstance(p, torch.Tensor) else torch.full_like(self, p)
    return self.copy_(torch.bernoulli(probabilities, generator=generator))


def _uniform_(self, low=0.0, high=1.0, *, generator=None):
    return self.copy_(torch.rand(self.shape, generator=generator) * (high - low) + low)


def _normal_(self, mean=0.0, std=1.0, *, generator=None):
    return self.copy_(torch.randn(self.shape, generator=generator) * std + mean)
