# SPDX-License-Identifier: Apache-2.0
"""The trainer's LeNet in eager PyTorch, one thread: what bench/trainer sets beside it. Arguments: folder, epochs, batch
size, learning rate, momentum. Each epoch trains on all training images once and tests on all test images, as the
trainer does. Prints the last accuracy and the BLAS that was loaded."""

import gzip
import os
import sys

import torch
from torch import nn


def read(folder, name, offset):
    path = os.path.join(folder, name)
    with gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb") as file:
        return torch.frombuffer(bytearray(file.read()[offset:]), dtype=torch.uint8)


def main():
    folder, epochs, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    data = {}
    for part in ("train", "t10k"):
        images = read(folder, part + "-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
        data[part] = images, read(folder, part + "-labels-idx1-ubyte", 8).long()
    floats = data["train"][0].float().div_(255)
    mean, deviation = floats.mean(), floats.std(unbiased=False)
    del floats
    net = nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.ReLU(),
                        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    assert sum(p.numel() for p in net.parameters()) == 431_080
    optimizer = torch.optim.SGD(net.parameters(), lr=float(sys.argv[4]), momentum=float(sys.argv[5]))
    criterion = nn.CrossEntropyLoss()

    def batches(part, order, size):
        images, labels = data[part]
        for begin in range(0, len(order), size):
            chosen = order[begin:begin + size]
            yield images[chosen].float().div_(255).sub_(mean).div_(deviation), labels[chosen]
    accuracy = 0.0
    for _ in range(epochs):
        for x, y in batches("train", torch.randperm(len(data["train"][1])), batch):
            optimizer.zero_grad(set_to_none=True)
            criterion(net(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            right = sum(int((net(x).argmax(1) == y).sum()) for x, y in batches("t10k", torch.arange(10_000), 500))
        accuracy = right / 10_000
    with open("/proc/self/maps") as maps:
        blas = sorted({os.path.realpath(line.split()[-1]) for line in maps if "blas" in line.rpartition("/")[2]})
    print(f"accuracy {accuracy:.4f} blas {' '.join(blas)}")


main()
