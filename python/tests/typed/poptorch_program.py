# SPDX-License-Identifier: Apache-2.0
"""A program in the style of PopTorch, for mypy."""
from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from pando import poptorch


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> Any:
        out = F.relu(self.fc(x))
        return out if labels is None else (out, self.loss(out, labels))


model = Net().train()
options = poptorch.Options().deviceIterations(2).replicationFactor(1)
options.Training.gradientAccumulation(2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
training = poptorch.trainingModel(model, options, optimizer)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
loader = poptorch.DataLoader(options, torch.utils.data.TensorDataset(x, y), batch_size=2, shuffle=True)
for inputs, labels in loader:
    out, loss = training(inputs, labels)
    print(f"{loss.item():.3f}", out.shape)
predicted = poptorch.inferenceModel(model)(x)
count: int = options.samples_factor()
