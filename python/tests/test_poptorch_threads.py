# SPDX-License-Identifier: Apache-2.0
"""Python threads and models of PopTorch: several at once, and one that several threads ask."""
import numpy as np
import pytest
from in_threads import in_threads

torch = pytest.importorskip("torch")

from pando import poptorch  # noqa: E402

X = np.random.default_rng(1).random((64, 4)).astype("float32")
Y = (X.sum(1, keepdims=True) > 2).astype("float32")
pytestmark = pytest.mark.usefixtures("eager_switching")


class Samples(torch.utils.data.Dataset):
    """A data set that is Python."""

    def __len__(self):
        return 32

    def __getitem__(self, i):
        return torch.from_numpy(X[i]), torch.from_numpy(Y[i])


class WithLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model, self.loss = torch.nn.Linear(4, 1), torch.nn.MSELoss()

    def forward(self, x, y):
        output = self.model(x)
        return output, self.loss(output, y)


def test_models_are_traced_and_trained_at_once():
    def work(i):
        model = WithLoss()
        training = poptorch.trainingModel(model, poptorch.Options(), torch.optim.SGD(model.parameters(), lr=0.1))
        data = Samples() if i % 2 else torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
        loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
        return sum(float(training(x, y)[1]) >= 0 for _ in range(2) for x, y in loader)
    assert in_threads(4, work) == [16, 8, 16, 8]


def test_an_executor_is_asked_while_another_thread_attaches_it():
    model = poptorch.inferenceModel(torch.nn.Linear(4, 1))
    x = torch.from_numpy(X[:2])
    model(x)

    def work(i):
        for _ in range(50):
            if i == 0:
                model.detachFromDevice()
                model.attachToDevice()
            else:
                model.isAttachedToDevice(), model.isCompiled()
        return True
    assert in_threads(3, work) == [True] * 3
