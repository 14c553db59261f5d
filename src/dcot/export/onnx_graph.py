"""Convert a program to an ONNX graph."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from dcot._version import __version__
from dcot.export import Program

Array = NDArray[Any]

OPSET = 18
_IR_VERSION = 8  # the version of ONNX 1.12, which older runtimes can read


def serialized(program: Program) -> bytes:
    """Return the bytes of an ONNX file."""
    graph = _Graph(program.dtype)
    text = program.settings["weighting"] is not None
    start = "counts" if text else "documents"
    terms = _weigh(graph, program, start) if text else start
    found = _features(graph, program, terms)
    classifier = program.settings["classifier"]
    end = "features" if classifier is None else "probabilities"
    if classifier is not None:
        found = _probabilities(graph, program, terms, found)
    graph.nodes.append(helper.make_node("Identity", [found], [end]))
    facts = {"terms": program.settings["terms"]}
    if classifier is not None:
        facts["classes"] = classifier["classes"]
    data: bytes = _model(graph, start, program.n_terms, end, facts).SerializeToString()
    return data


class _Graph:
    """Nodes and constants of a graph; values are referred to by name."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = None) -> str:
        name = f"c{len(self.constants)}"
        array = np.ascontiguousarray(value, dtype=dtype or self.dtype)
        self.constants.append(numpy_helper.from_array(array.reshape(np.shape(value)), name))
        return name

    def call(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node; inputs that are numbers or arrays become constants."""
        name = f"n{len(self.nodes)}"
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(helper.make_node(operator, names, [name], **attributes))
        return name

    def sum(self, values: str) -> str:
        """Return the sums of rows, as a column."""
        axes = self.constant([1], np.int64)
        return self.call("ReduceSum", values, axes, keepdims=1)

    def inverse_lengths(self, rows: str) -> str:
        """Return one over the lengths of rows, or zero for rows of zeros, as a column."""
        return self.inverse(self.call("Sqrt", self.sum(self.call("Mul", rows, rows))))

    def inverse(self, values: str) -> str:
        positive = self.call("Greater", values, 0.0)
        safe = self.call("Where", positive, values, 1.0)
        return self.call("Where", positive, self.call("Div", 1.0, safe), 0.0)


def _weigh(graph: _Graph, program: Program, counts: str) -> str:
    """Return the weighted terms; ``TermWeighting.transform`` has the formulas."""
    how, call = program.settings["weighting"], graph.call
    there = call("Greater", counts, 0.0)
    scheme = how["scheme"]
    if program.settings["analysis"]["binary"]:
        counts = call("Where", there, 1.0, 0.0)
    found = counts
    if scheme == "bm25":
        relative: Any = 1.0
        if how["mean_length"] > 0:
            relative = call("Div", graph.sum(counts), how["mean_length"])
        k1, b = how["k1"], how["b"]
        damping = call("Add", call("Mul", relative, k1 * b), k1 * (1 - b))
        ratio = call("Div", call("Mul", counts, k1 + 1), call("Add", counts, damping))
        found = call("Where", there, ratio, 0.0)
    elif scheme == "binary":
        found = call("Where", there, 1.0, 0.0)
    elif scheme == "log" or (scheme == "tfidf" and how["sublinear_tf"]):
        logarithm = call("Add", call("Log", call("Where", there, counts, 1.0)), 1.0)
        found = call("Where", there, logarithm, 0.0)
    if scheme == "bm25" or (scheme == "tfidf" and how["use_idf"]):
        found = call("Mul", found, program.arrays["idf"])
    if how["norm"] == "l1":
        return call("Mul", found, graph.inverse(graph.sum(call("Abs", found))))
    if how["norm"] == "l2":
        return call("Mul", found, graph.inverse_lengths(found))
    return found


def _features(graph: _Graph, program: Program, terms: str) -> str:
    """Return the features; ``Representation`` has the formulas."""
    settings, arrays, call = program.settings, program.arrays, graph.call
    normalize, parts, shared = settings["normalize"], [], None
    inputs: list[tuple[str, Any]] = []
    if settings["output"] in ("concat", "all"):
        inputs.append((terms, 1.0))
    if settings["output"] in ("lsi", "all"):
        inputs.append((call("MatMul", terms, arrays["directions"]), settings["lsi_weight"]))
    for values, factor in inputs:
        if normalize in ("unit", "shared"):
            factor = call("Mul", graph.inverse_lengths(values), factor)
        parts.append(call("Mul", values, factor))
    z = terms
    for k, layer in enumerate(settings["layers"]):
        z = call("Add", call("MatMul", z, arrays[f"coef{k}"]), arrays[f"intercept{k}"])
        z = call("Tanh", z) if layer["squash"] == "tanh" else z
        block = call("Sub", z, arrays[f"mean{k}"]) if f"mean{k}" in arrays else z
        if normalize == "unit":
            block = call("Mul", block, graph.inverse_lengths(block))
        if normalize == "shared":
            shared = shared or graph.inverse_lengths(block)
            block = call("Mul", block, call("Mul", shared, layer["scale"]))
        if settings["output"] != "last" or k == len(settings["layers"]) - 1:
            parts.append(block)
    found = call("Concat", *parts, axis=1)
    return call("MatMul", found, arrays["components"]) if "components" in arrays else found


def _probabilities(graph: _Graph, program: Program, terms: str, features: str) -> str:
    settings, arrays, call = program.settings["classifier"], program.arrays, graph.call
    if "vectors" in arrays:
        vectors = call("MatMul", terms, arrays["vectors"])
        centred = call("Sub", vectors, arrays["vectors_mean"])
        known = call("Greater", graph.sum(call("Abs", vectors)), 0.0)
        scale = call("Mul", graph.inverse_lengths(centred), np.sqrt(settings["vectors_weight"]))
        beside = call("Mul", centred, call("Where", known, scale, 0.0))
        features = call("Concat", features, beside, axis=1)
    decisions = call("Add", call("MatMul", features, arrays["weights"]), arrays["bias"])
    if settings["exclusive"]:
        return call("Softmax", call("Mul", decisions, settings["temperature"]), axis=1)
    return call("Sigmoid", call("Mul", decisions, 2 * settings["temperature"]))


def _model(graph: _Graph, start: str, n_terms: int, end: str, facts: dict[str, Any]) -> Any:
    kind = helper.np_dtype_to_tensor_dtype(graph.dtype)
    inputs = [helper.make_tensor_value_info(start, kind, ["n", n_terms])]
    outputs = [helper.make_tensor_value_info(end, kind, ["n", None])]
    made = helper.make_graph(graph.nodes, "dcot", inputs, outputs, graph.constants)
    model = helper.make_model(
        made,
        producer_name="dcot",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
    )
    helper.set_model_props(model, {name: json.dumps(value) for name, value in facts.items()})
    onnx.checker.check_model(model)
    return model
