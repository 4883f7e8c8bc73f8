"""A graph seen along its edges, and the edits that passes make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..ir import Array, Graph, Names, Node, Port, Value, constant
from ..ops import definition

OTHER_LAYOUT = ".nhwc"
"""Behind the name of an ONNX tensor: the same elements in another order."""


class Links:
    """Producers and users of values, kept through edits. All edits go through here.

    New nodes are put where they are told to; `NodePass` sorts the graph when it is done.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.unique = Names(v.name for v in graph.values()).unique
        self._producers = graph.producers()
        self._users = graph.consumers()
        self._outputs = graph.output_values()
        self._present = set(graph.nodes)

    def has(self, node: Node) -> bool:
        """Whether the node is still in the graph."""
        return node in self._present

    def producer(self, value: Value | None, op: str | None = None) -> Node | None:
        """The node that makes `value`, if there is one (of operator `op`)."""
        node = None if value is None else self._producers.get(value)
        return node if op is None or (node is not None and node.op == op) else None

    def source(self, value: Value) -> Node | None:
        """The node that computes the elements of `value`, whatever Reshapes are behind it."""
        node = self.producer(value)
        while node is not None and node.op == "Reshape":
            node = self.producer(node.input(0))
        return node

    def users(self, value: Value) -> Sequence[Node]:
        """The nodes that read `value`, one entry a use."""
        return self._users.get(value, ())

    def is_output(self, value: Value) -> bool:
        return value in self._outputs

    def only_user(self, value: Value) -> Node | None:
        """The one node that reads `value` once, if nothing else does."""
        users = self.users(value)
        return users[0] if len(users) == 1 and not self.is_output(value) else None

    def only_reshaped(self, value: Value, last: Value) -> bool:
        """Whether `last` is `value` behind any Reshapes that keep its last axis, with one reader,
        and nobody else reads what is in between.
        """
        v = last
        while v.shape[-1:] == value.shape[-1:] and self.only_user(v) is not None:
            if v is value:
                return True
            node = self.producer(v, "Reshape")
            if node is None:
                return False
            v = node.input(0)
        return False

    def private(self, value: Value | None, op: str) -> Node | None:
        """The producer of `value` if it is an `op` and nobody else reads its result."""
        node = self.producer(value, op)
        if node is None or value is None or self.only_user(value) is None:
            return None
        return node

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
        self._present.add(node)
        self._producers[node.output] = node
        self._reads(node)
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
        self.redirect(old, new, self.users(old))
        for port in self.graph.outputs:
            if port.value is old:
                self.let_out(port, new)
        self._drop(node)

    def redirect(self, old: Value, new: Value, users: Iterable[Node]) -> None:
        """Let these nodes read `new` where they read `old`."""
        for user in list(dict.fromkeys(users)):
            self._connect(user, [new if v is old else v for v in user.inputs])

    def let_out(self, port: Port, value: Value) -> None:
        """Let an output of the graph be `value`."""
        port.value = value
        self._outputs = self.graph.output_values()

    def rewire(self, node: Node, inputs: Sequence[Value | None], **attrs: Any) -> None:
        """Give the node other inputs and attributes; its output's type is inferred again."""
        self._connect(node, inputs)
        node.attrs = {**node.attrs, **attrs}
        node.output.type = definition(node.op).infer(node)[0]

    def take_over(self, node: Node, after: Node) -> None:
        """Let `node` make the output of `after`, which it has absorbed; `after` is dropped."""
        self._drop(after)
        del self._producers[node.output]
        node.outputs = list(after.outputs)
        self._producers.update(dict.fromkeys(node.outputs, node))

    def _connect(self, node: Node, inputs: Sequence[Value | None]) -> None:
        self._forget(node)
        node.inputs = list(inputs)
        self._reads(node)

    def _drop(self, node: Node) -> None:
        self.graph.nodes.remove(node)
        self._present.remove(node)
        self._forget(node)
        for v in node.outputs:
            del self._producers[v]

    def _reads(self, node: Node) -> None:
        for v in node.inputs:
            if v is not None:
                self._users.setdefault(v, []).append(node)

    def _forget(self, node: Node) -> None:
        for v in node.inputs:
            if v is not None:
                self._users[v].remove(node)
