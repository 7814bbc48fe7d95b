# SPDX-License-Identifier: Apache-2.0
"""A program in the style of PopTorch, for mypy."""
from __future__ import annotations

from typing import Any

import pando.torch as torch
import pando.torch.nn.functional as F
from pando import poptorch, torchvision
from pando.torch import nn


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
for _ in range(2):
    out, loss = training(x, y)
    print(f"{loss.item():.3f}", F.cross_entropy(out, y[:4]), x.sum().item(), x.max(dim=1))
    print((x + 1).mean().item(), torch.max(x, 1))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
scheduler.step()
loader = poptorch.DataLoader(options, torch.utils.data.TensorDataset(x, y), batch_size=2, shuffle=True)
transform = torchvision.transforms.Compose([torchvision.transforms.ToTensor(),
                                            torchvision.transforms.Normalize((0.1,), (0.3,))])
images = torchvision.datasets.MNIST("~/.torch", train=True, download=True, transform=transform)
count: int = sum(p.numel() for p in model.parameters() if p.requires_grad)
torch.save(model.state_dict(), "model.pt")
