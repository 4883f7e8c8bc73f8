"""Train the demo's network and write docs/examples/digits/: python train_digits.py

Needs torch, scikit-learn and onnx. The data are the 1,797 handwritten digits (8 x 8 pixels, values
0 to 16) that ship with scikit-learn: 897 to train on (128 of them kept as calibration samples),
900 to evaluate. The network is a small MobileNet-like one, written as an ordinary float ONNX model
in PyTorch's layout (NCHW) with its BatchNormalization left in, as exporters leave it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from torch import nn

OUT = Path(__file__).parent / "digits"


def conv(cin: int, cout: int, kernel: int = 3, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(cin, cout, kernel, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU6(),
    )


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = conv(1, 24)
        self.depthwise = conv(24, 24, groups=24)
        self.pointwise = conv(24, 48, kernel=1)
        self.pool = nn.MaxPool2d(2)
        self.block = nn.Sequential(conv(48, 48, groups=48), conv(48, 48, kernel=1))
        self.head = nn.Linear(48, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.pointwise(self.depthwise(self.stem(x))))
        x = x + self.block(x)
        return self.head(x.mean((2, 3)))


def train(x: np.ndarray, y: np.ndarray) -> Net:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Net()
    epochs, batch = 60, 64
    opt = torch.optim.AdamW(net.parameters(), 4e-3, weight_decay=1e-3)
    steps = epochs * (len(x) // batch)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    xs, ys = torch.from_numpy(x), torch.from_numpy(y)
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for i in range(0, len(x) - batch + 1, batch):
            pick = order[i : i + batch]
            shift = tuple(int(s) for s in torch.randint(-1, 2, (2,)))
            loss = nn.functional.cross_entropy(net(torch.roll(xs[pick], shift, (2, 3))), ys[pick])
            opt.zero_grad()
            loss.backward()
            opt.step()
            plan.step()
    return net.eval()


class Writer:
    """The trained network as ONNX nodes."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, value: torch.Tensor) -> str:
        self.weights.append(numpy_helper.from_array(value.detach().numpy(), name))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def conv(self, x: str, name: str, layers: nn.Sequential) -> str:
        c, bn = layers[0], layers[1]
        pad = c.kernel_size[0] // 2
        y = self.node(
            "Conv",
            [x, self.weight(f"{name}.weight", c.weight)],
            f"{name}/conv",
            pads=[pad] * 4,
            group=c.groups,
            kernel_shape=list(c.kernel_size),
        )
        parts = {
            "scale": bn.weight,
            "bias": bn.bias,
            "mean": bn.running_mean,
            "var": bn.running_var,
        }
        named = [self.weight(f"{name}.bn.{k}", v) for k, v in parts.items()]
        y = self.node("BatchNormalization", [y, *named], f"{name}/bn", epsilon=bn.eps)
        return self.node("Clip", [y, "zero", "six"], f"{name}/relu6")

    def model(self, net: Net) -> onnx.ModelProto:
        self.weight("zero", torch.tensor(0.0))
        self.weight("six", torch.tensor(6.0))
        y = self.conv("image", "stem", net.stem)
        y = self.conv(y, "depthwise", net.depthwise)
        y = self.conv(y, "pointwise", net.pointwise)
        y = self.node("MaxPool", [y], "pool", kernel_shape=[2, 2], strides=[2, 2])
        z = self.conv(self.conv(y, "block.0", net.block[0]), "block.1", net.block[1])
        y = self.node("Add", [y, z], "residual")
        y = self.node("GlobalAveragePool", [y], "mean")
        y = self.node("Flatten", [y], "flat")
        y = self.node(
            "Gemm",
            [
                y,
                self.weight("head.weight", net.head.weight),
                self.weight("head.bias", net.head.bias),
            ],
            "logits",
            transB=1,
        )
        self.node("Softmax", [y], "probabilities", axis=1)
        graph = helper.make_graph(
            self.nodes,
            "digits",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
            [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return model


def main() -> None:
    data = load_digits()
    x = (data.images / 16).astype(np.float32)[:, None]
    y = data.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(x))
    learn, test = order[:897], order[897:]
    net = train(x[learn], y[learn])
    with torch.no_grad():
        right = net(torch.from_numpy(x[test])).argmax(1).numpy() == y[test]
    print(f"float top-1 on {len(test)} samples: {right.mean():.4f}")
    OUT.mkdir(exist_ok=True)
    onnx.save(Writer().model(net), OUT / "digits.onnx")
    np.savez_compressed(OUT / "calib.npz", image=x[learn[:128]])
    np.savez_compressed(OUT / "eval.npz", image=x[test], label=y[test])


if __name__ == "__main__":
    main()
