# SPDX-License-Identifier: Apache-2.0
"""A PopTorch tutorial, as its users write it: classes of modules, loaders, training and inference on MNIST."""
import re

import pytest
from conftest import needs_mnist

pytest.importorskip("torchvision")

SCRIPT = '''
from tqdm.auto import tqdm
import torch
import torch.nn as nn
import torchvision
import poptorch
import torch.optim as optim

transform = torchvision.transforms.Compose([
    torchvision.transforms.ToTensor(), torchvision.transforms.Normalize((0.1307, ), (0.3081, ))])
sets = [torchvision.datasets.MNIST("~/.torch/datasets", train=train, download=True, transform=transform)
        for train in (True, False)]
training_data = torch.utils.data.DataLoader(sets[0], batch_size=400, shuffle=True, drop_last=True)
test_data = torch.utils.data.DataLoader(sets[1], batch_size=80, shuffle=True, drop_last=True)


class Block(nn.Module):
    def __init__(self, in_channels, num_filters, kernel_size, pool_size):
        super(Block, self).__init__()
        self.conv = nn.Conv2d(in_channels, num_filters, kernel_size=kernel_size)
        self.pool = nn.MaxPool2d(kernel_size=pool_size)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.pool(self.conv(x)))


class Network(nn.Module):
    def __init__(self):
        super(Network, self).__init__()
        self.layer1 = Block(1, 32, 3, 2)
        self.layer2 = Block(32, 64, 3, 2)
        self.layer3 = nn.Linear(1600, 128)
        self.layer3_act = nn.ReLU()
        self.layer3_dropout = torch.nn.Dropout(0.5)
        self.layer4 = nn.Linear(128, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(x)).view(-1, 1600)
        x = self.layer3_act(self.layer3(x))
        return self.layer4(self.layer3_dropout(x))


class WithLoss(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, args, loss_inputs=None):
        output = self.model(args)
        return output, self.loss(output, loss_inputs)


def accuracy(predictions, labels):
    _, ind = torch.max(predictions, 1)
    labels = labels[-predictions.size()[0]:]
    return torch.sum(torch.eq(ind, labels)).item() / labels.size()[0] * 100.0


model = Network()
model_with_loss = WithLoss(model)
options = poptorch.Options().deviceIterations(50).anchorMode(poptorch.AnchorMode.All)
print(model_with_loss)
training_model = poptorch.trainingModel(model_with_loss, options, optimizer=optim.SGD(model.parameters(), lr=0.03))
for epoch in tqdm(range(2), desc="Epochs"):
    with tqdm(training_data, total=len(training_data), leave=False) as bar:
        for data, labels in bar:
            preds, losses = training_model(data, labels)
            bar.set_description("Loss: {:0.4f} | Accuracy: {:05.2F}% ".format(
                torch.mean(losses).item(), accuracy(preds, labels)))
training_model.detachFromDevice()
inference_model = poptorch.inferenceModel(model)
total = sum(accuracy(inference_model(data), labels) for data, labels in test_data)
print("Accuracy on test set: {:0.2f}%".format(total / len(test_data)))
inference_model.detachFromDevice()
'''

TREE = """WithLoss(
  (model): Network(
    (layer1): Block(
      (conv): Conv2d(1, 32, kernel_size=(3, 3), stride=(1, 1))
      (pool): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
      (relu): ReLU()
    )
    (layer2): Block(
      (conv): Conv2d(32, 64, kernel_size=(3, 3), stride=(1, 1))
      (pool): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
      (relu): ReLU()
    )
    (layer3): Linear(in_features=1600, out_features=128, bias=True)
    (layer3_act): ReLU()
    (layer3_dropout): Dropout(p=0.5, inplace=False)
    (layer4): Linear(in_features=128, out_features=10, bias=True)
  )
  (loss): CrossEntropyLoss()
)
"""


@needs_mnist
def test_a_poptorch_tutorial(run_python, few_digits, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    found = run_python("-m", "pando", "script.py", HOME=str(tmp_path), PANDO_DATA=few_digits)
    assert found.stdout.startswith(TREE)
    assert found.stderr.count("where Pando keeps this data set") == 1
    assert float(re.search(r"Accuracy on test set: ([\d.]+)%", found.stdout)[1]) > 94
    assert re.search(r"Loss: 0\.\d{4} \| Accuracy: \d\d\.\d\d% ", found.stderr)
    assert (tmp_path / ".torch/datasets/MNIST/raw").is_dir()
