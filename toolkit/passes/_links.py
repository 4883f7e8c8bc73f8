"""A graph seen along its edges, and the edits that passes make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import Array, Graph, Node, Value, constant
from ..ops import definition

OTHER_LAYOUT = ".nhwc"
"""Behind the name of an ONNX tensor: the same elements in another order."""


class Links:
    """Producers and users of values, recomputed after edits. All edits go through here.

    New nodes are put where they are told to; `NodePass` sorts the graph when it is done.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._names = {v.name for v in graph.values()}
        self._stale()

    def _stale(self) -> None:
        self._producers: dict[Value, Node] | None = None
        self._users: dict[Value, list[Node]] | None = None
        self._outputs: set[Value] | None = None
        self._present: set[Node] | None = None

    def has(self, node: Node) -> bool:
        """Whether the node is still in the graph."""
        if self._present is None:
            self._present = set(self.graph.nodes)
        return node in self._present

    def producer(self, value: Value | None, op: str | None = None) -> Node | None:
        """The node that makes `value`, if there is one (of operator `op`)."""
        if self._producers is None:
            self._producers = self.graph.producers()
        node = None if value is None else self._producers.get(value)
        return node if op is None or (node is not None and node.op == op) else None

    def users(self, value: Value) -> list[Node]:
        """The nodes that read `value`, one entry a use."""
        if self._users is None:
            self._users = self.graph.consumers()
        return self._users.get(value, [])

    def is_output(self, value: Value) -> bool:
        if self._outputs is None:
            self._outputs = self.graph.output_values()
        return value in self._outputs

    def only_user(self, value: Value) -> Node | None:
        """The one node that reads `value` once, if nothing else does."""
        users = self.users(value)
        return users[0] if len(users) == 1 and not self.is_output(value) else None

    def private(self, value: Value | None, op: str) -> Node | None:
        """The producer of `value` if it is an `op` and nobody else reads its result."""
        node = self.producer(value, op)
        if node is None or value is None or self.only_user(value) is None:
            return None
        return node

    def unique(self, base: str) -> str:
        """A name nobody has: `base`, or `base` with a number."""
        name, n = base, 1
        while name in self._names:
            name, n = f"{base}.{n}", n + 1
        self._names.add(name)
        return name

    def in_other_layout(self, name: str) -> str:
        """A name for the tensor `name` with its axes permuted."""
        return self.unique(name if OTHER_LAYOUT in name else name + OTHER_LAYOUT)

    def constant(self, array: Array, name: str) -> Value:
        return constant(array, self.unique(name))

    def emit(
        self,
        before: Node | None,
        op: str,
        inputs: Sequence[Value | None],
        attrs: dict[str, Any],
        name: str,
    ) -> Value:
        """The output of a new node, put before another, or last for None."""
        node = Node(op, list(inputs), [], attrs, self.unique(name))
        node.outputs = [Value(node.name, definition(op).infer(node)[0])]
        at = len(self.graph.nodes) if before is None else self.graph.nodes.index(before)
        self.graph.nodes.insert(at, node)
        self._stale()
        return node.output

    def replaceable(self, node: Node, new: Value) -> bool:
        """Whether `new` may stand for the node's output: an output of the graph is computed."""
        return new.const is None or not self.is_output(node.output)

    def replace(self, node: Node, new: Value) -> None:
        """Let `new` stand for the node's only output, and drop the node.

        The name goes along, unless `new` is a graph input, a constant, or named by an output.
        """
        old = node.output
        free = new.const is None and self.producer(new) is not None and not self.is_output(new)
        if free and (self.is_output(old) or new.name.startswith(old.name)):
            new.name, old.name = old.name, new.name
        self.graph.replace(old, new)
        self.graph.nodes.remove(node)
        self._stale()

    def rewire(self, node: Node, inputs: Sequence[Value | None], **attrs: Any) -> None:
        """Give the node other inputs and attributes; its output's type is inferred again."""
        node.inputs = list(inputs)
        node.attrs = {**node.attrs, **attrs}
        node.output.type = definition(node.op).infer(node)[0]
        self._stale()

    def take_over(self, node: Node, after: Node) -> None:
        """Let `node` make the output of `after`, which it has absorbed; `after` is dropped."""
        node.outputs = list(after.outputs)
        self.graph.nodes.remove(after)
        self._stale()
