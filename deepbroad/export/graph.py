"""A small builder of ONNX graphs: nodes by their operator, constants from NumPy arrays."""

from enum import IntEnum
from typing import Any

import numpy as np

# Old enough for every runtime of the last years.
OPSET, ML_OPSET, IR = 17, 3, 8
MAX_BYTES = 2**31 - 2**20  # of a file, by its format


class Kind(IntEnum):
    """Types of tensors, by the numbers that the standard gives them."""

    FLOAT = 1
    INT64 = 7
    STRING = 8
    BOOL = 9
    DOUBLE = 11


class Graph:
    """Nodes, constants and inputs, added in order; values are known by their names."""

    def __init__(self, taken: set[str]) -> None:
        try:
            import onnx
            import onnx.checker
            import onnx.helper
            import onnx.numpy_helper
        except ImportError:
            raise ImportError(
                'to="onnx" needs ONNX. It comes with: pip install "deepbroad[onnx]"'
            ) from None
        self._onnx: Any = onnx
        # No name of ours may be one of `taken`.
        self._prefix = "deepbroad/"
        while any(name.startswith(self._prefix) for name in taken):
            self._prefix += "/"
        self._count = 0
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: dict[str, Any] = {}
        self._bytes = 0

    def input(self, name: str, *, text: bool) -> str:
        """Return an input of shape [N, 1], of strings or numbers in double precision."""
        if not name:
            raise ValueError("ONNX has no inputs without a name; name the columns before the fit.")
        if name not in self._inputs:
            kind = Kind.STRING if text else Kind.DOUBLE
            self._inputs[name] = self._onnx.helper.make_tensor_value_info(name, kind, ["N", 1])
        return name

    def constant(self, values: Any) -> str:
        """Return a constant."""
        array = np.asarray(values)
        name = self._name()
        self._bytes += array.nbytes
        if self._bytes > MAX_BYTES:
            raise ValueError(
                'This model is larger than the 2 GB of an ONNX file; export it with to="sql", or '
                "fit a lower n or a higher min_count."
            )
        if array.dtype.kind in "UO":
            texts = [text.encode() for text in array.ravel().tolist()]
            tensor = self._onnx.helper.make_tensor(name, Kind.STRING, array.shape, texts)
        else:
            tensor = self._onnx.numpy_helper.from_array(array, name)
        self._constants.append(tensor)
        return name

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node and return its output."""
        output = name or self._name()
        domain = "ai.onnx.ml" if operator == "LabelEncoder" else ""
        self._nodes.append(
            self._onnx.helper.make_node(
                operator, list(inputs), [output], domain=domain, **attributes
            )
        )
        return output

    def finish(self, outputs: dict[str, tuple[int, list[Any]]], facts: dict[str, str]) -> Any:
        """Return the checked model; `outputs` gives the type and the shape of each."""
        graph = self._onnx.helper.make_graph(
            self._nodes,
            "deepbroad",
            list(self._inputs.values()),
            [
                self._onnx.helper.make_tensor_value_info(n, kind, shape)
                for n, (kind, shape) in outputs.items()
            ],
            self._constants,
        )
        opsets = [
            self._onnx.helper.make_opsetid("", OPSET),
            self._onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET),
        ]
        model = self._onnx.helper.make_model(graph, producer_name="deepbroad", opset_imports=opsets)
        model.ir_version = IR
        self._onnx.helper.set_model_props(model, facts)
        self._onnx.checker.check_model(model)
        return model

    def _name(self) -> str:
        self._count += 1
        return f"{self._prefix}{self._count}"
