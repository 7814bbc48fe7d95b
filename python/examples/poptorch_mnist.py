# SPDX-License-Identifier: Apache-2.0
"""A small network on MNIST, in the style of PopTorch: each call trains on 20 batches without the host in between.

    python3 -m pando python/examples/poptorch_mnist.py [--epochs 2] [--data ~/.torch/datasets]
"""
import argparse

import poptorch
import torch
import torchvision
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(28 * 28, 128)
        self.output = nn.Linear(128, 10)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x, labels=None):
        y = self.output(torch.relu(self.hidden(torch.flatten(x, 1))))
        return y if labels is None else (y, self.loss(y, labels))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--data", default="~/.torch/datasets", help="where the files of MNIST are kept")
    options = parser.parse_args()

    transform = torchvision.transforms.ToTensor()
    train = torchvision.datasets.MNIST(options.data, train=True, transform=transform, download=True)
    test = torchvision.datasets.MNIST(options.data, train=False, transform=transform, download=True)

    training = poptorch.Options().deviceIterations(20)
    batches = poptorch.DataLoader(training, train, batch_size=32, shuffle=True, drop_last=True)
    network = Network()
    trainer = poptorch.trainingModel(network, training, optimizer=torch.optim.SGD(network.parameters(), lr=0.1))
    for epoch in range(options.epochs):
        for x, labels in batches:
            _, loss = trainer(x, labels)
        print(f"Epoch {epoch + 1}: loss {loss.mean().item():.4f}")

    network.eval()
    predictor = poptorch.inferenceModel(network, poptorch.Options())
    right = total = 0
    for x, labels in torch.utils.data.DataLoader(test, batch_size=100):
        right += int((predictor(x).argmax(1) == labels).sum())
        total += len(labels)
    print(f"Test accuracy {right / total:.4f}")


if __name__ == "__main__":
    main()
