"""Files that are damaged, forged or no model files at all are refused, and run nothing."""

import json
import pickle
import struct
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepbroad
from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier, ModelFileError
from deepbroad.engine import planning
from deepbroad.persist.container import Stamp, pack_file, unpack_file

RNG = np.random.default_rng(0)
X = np.column_stack(
    [
        RNG.choice(["a", "b", "c"], 60),
        RNG.choice(["u", "v"], 60),
        RNG.integers(0, 3, 60).astype(str),
    ]
)
Y = np.where((X[:, 0] == "a") ^ (X[:, 1] == "u"), "yes", RNG.choice(["no", "maybe"], 60))
# One group per column, whatever the planner would prefer: the forged plans below build on it.
with patch.object(planning, "plan_groups", lambda _, v, **__: [(c,) for c in range(len(v))]):
    MODEL = DBLClassifier(n=2, alpha=1.0).fit(X, Y)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a good file."""
    path = tmp_path_factory.mktemp("whole") / "model.dbl"
    deepbroad.save(MODEL, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Where bad files go."""
    return tmp_path_factory.mktemp("hostile") / "model.dbl"


def load_bytes(data, path):
    path.write_bytes(data)
    return deepbroad.load(path)


def refuse(data, path, match="cannot be loaded"):
    with pytest.raises(ModelFileError, match=match) as caught:
        load_bytes(data, path)
    assert len(str(caught.value)) < 500
    assert str(path) in str(caught.value)


def forge(whole, *, class_name="DBLClassifier", **changes):
    """Return the file with other arrays (None: without), and a checksum that is right."""
    _, tensors = unpack_file(whole, version="")
    for name, array in changes.items():
        tensors[name.replace("__", ".")] = array
    kept = {name: array for name, array in tensors.items() if array is not None}
    return bytes(pack_file(Stamp("0", class_name), kept))


def description(whole):
    _, tensors = unpack_file(whole, version="")
    return json.loads(tensors["json"].tobytes())


def with_json(whole, data, **changes):
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return forge(whole, json=np.frombuffer(text, np.uint8), **changes)


def tensors_of(whole):
    return unpack_file(whole, version="")[1]


def test_the_forger_makes_good_files_of_good_parts(whole, path):
    assert load_bytes(forge(whole), path).predict_proba(X).tobytes() == (
        MODEL.predict_proba(X).tobytes()
    )
    load_bytes(with_json(whole, description(whole)), path)


def test_every_flipped_bit_of_the_header_is_refused(whole, path):
    end = 8 + int.from_bytes(whole[:8], "little")
    for i in range(end):
        data = bytearray(whole)
        data[i] ^= 1 << (i % 8)
        with pytest.raises(ModelFileError):
            load_bytes(data, path)


@given(data=st.data())
def test_any_flipped_byte_is_refused(whole, path, data):
    changed = bytearray(whole)
    for _ in range(20):
        i = data.draw(st.integers(0, len(whole) - 1))
        changed = bytearray(whole)
        changed[i] ^= data.draw(st.integers(1, 255))
        with pytest.raises(ModelFileError):
            load_bytes(changed, path)


@given(data=st.data())
def test_any_truncation_or_addition_is_refused(whole, path, data):
    for _ in range(10):
        with pytest.raises(ModelFileError):
            load_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))], path)
    with pytest.raises(ModelFileError):
        load_bytes(whole + data.draw(st.binary(min_size=1, max_size=100)), path)


@given(st.binary(max_size=300))
def test_noise_is_refused(path, data):
    with pytest.raises(ModelFileError, match="not a deepbroad model file"):
        load_bytes(data, path)


def test_a_truncated_file_is_called_so(whole, path):
    refuse(whole[:-1], path, "truncated")
    refuse(whole[:200], path, "truncated")


def test_a_changed_file_is_called_so(whole, path):
    refuse(whole[:-1] + bytes([whole[-1] ^ 1]), path, "damaged or changed")


class Bomb:
    """Pickles to a call that fails the test."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was run",)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 8, b"PK\x03\x04", pickle.dumps(Bomb()), pickle.dumps(MODEL)]
)
def test_other_files_are_refused(data, path):
    refuse(data, path, "not a deepbroad model file")


def test_a_safetensors_file_of_something_else_is_refused(path):
    from safetensors.numpy import save

    refuse(save({"a": np.arange(3.0)}), path, "not a deepbroad model file")
    refuse(save({"a": np.arange(3.0)}, {"made_by": "x"}), path, "not a deepbroad model file")


def test_a_missing_file_and_a_folder_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^there is no file '.*nothing\.dbl'"):
        deepbroad.load(tmp_path / "nothing.dbl")
    with pytest.raises(IsADirectoryError, match=r"is a folder; give a model file"):
        deepbroad.load(tmp_path)


def test_an_unknown_format_says_which_version_wrote_it(whole, path, monkeypatch):
    tensors = tensors_of(whole)
    monkeypatch.setattr("deepbroad.persist.container.FORMAT", 7)
    data = bytes(pack_file(Stamp("9.8", "DBLClassifier"), tensors))
    monkeypatch.undo()
    refuse(data, path, r"format 7 .* deepbroad 9\.8, but .* formats 1 and 2\. Use deepbroad 9\.8")


def test_errors_show_the_control_characters_of_a_file_as_escapes(whole, path, monkeypatch):
    stamp = Stamp("9\x1b]0;title\x07\u202e", "DBL\x9bClassifier")
    refuse(bytes(pack_file(stamp, tensors_of(whole))), path, r"it holds a DBL\\x9bClassifier")
    monkeypatch.setattr("deepbroad.persist.container.FORMAT", 7)
    data = bytes(pack_file(stamp, tensors_of(whole)))
    monkeypatch.undo()
    refuse(data, path, r"deepbroad 9\\x1b\]0;title\\x07\\u202e")


@pytest.mark.parametrize("name", ["RandomForestClassifier", "os.system", "", "x" * 10_000])
def test_an_unknown_class_is_refused(whole, path, name):
    refuse(forge(whole, class_name=name), path, "this version knows AnDEClassifier")


@pytest.mark.parametrize("name", ["AnJEClassifier", "LRClassifier"])
def test_another_class_than_the_model_has_is_refused(whole, path, name):
    refuse(forge(whole, class_name=name), path, "unknown")


def header_with(**entries):
    """Return a file whose header has these arrays, with a right checksum but little data."""
    data = bytes(pack_file(Stamp("0", "DBLClassifier"), {}))
    header = json.loads(data[8:])
    text = json.dumps({**header, **entries}, separators=(",", ":")).encode()
    raw = bytearray(struct.pack("<Q", len(text)) + text + bytes(64))
    from deepbroad.persist import container

    raw[container.DIGEST] = container._digest(raw)
    return bytes(raw)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 64]},
        {"dtype": "F64", "shape": [2**60], "data_offsets": [0, 2**63]},
        {"dtype": "F64", "shape": [8], "data_offsets": [-64, 0]},
        {"dtype": "F64", "shape": [-8], "data_offsets": [0, 64]},
        {"dtype": "F64", "shape": [4], "data_offsets": [0, 64]},
        {"dtype": "F64", "shape": [4], "data_offsets": [32, 64]},
        {"dtype": "object", "shape": [8], "data_offsets": [0, 64]},
        {"dtype": "BF16", "shape": [32], "data_offsets": [0, 64]},
        {"dtype": "F64", "shape": "8", "data_offsets": [0, 64]},
        {"dtype": "F64"},
        [],
        None,
        "text",
    ],
    ids=str,
)
def test_headers_that_do_not_fit_their_data_are_refused(path, entry):
    refuse(header_with(scores=entry), path)


def test_a_header_longer_than_the_file_is_refused(whole, path):
    refuse(struct.pack("<Q", 2**63) + whole[8:], path, "truncated")
    refuse(struct.pack("<Q", 40) + whole[8:], path)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{}", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 200_000, b'{"a":' * 200_000,
        b'{"parameters":NaN}', b"9" * 100_000, b'{"a":1,"a":2}',
    ],
)  # fmt: skip
def test_descriptions_that_are_none_are_refused(whole, path, text):
    refuse(with_json(whole, text), path, "description")


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("extra", 1),
        ("named", 1),
        ("plan", []),
        ("fit", {}),
        ("labels", {"dtype": "<U5", "values": ["a", "b"]}),
        ("labels", {"dtype": "<U5", "values": ["maybe"]}),
        ("labels", {"dtype": "<U5", "values": ["no", "no", "yes"]}),
        ("labels", {"dtype": "<U999999999", "values": ["maybe", "no", "yes"]}),
        ("labels", {"dtype": "i4,(", "values": ["maybe", "no", "yes"]}),
        ("labels", {"dtype": "|O", "values": [{"other": ["os.system", "ls"]}, "no", "yes"]}),
        ("parameters", {"nonsense": 1}),
        ("parameters", {"callbacks": []}),
        ("parameters", {"checkpoint": "/etc"}),
        ("parameters", {"n": {"object": "os.system"}}),
        ("parameters", {"n": nested(500)}),
        ("labels", {"dtype": nested(900), "values": nested(900)}),
        ("encoding", {"names": nested(900), "columns": nested(900)}),
        ("parameters", {"n": {"numpy": ["<U99999999", "a"]}}),
        ("parameters", {"n": {"numpy": ["<U9999", "a"]}}),
        ("parameters", {"n": {"numpy": ["|O", "a"]}}),
        ("parameters", {"n": {"numpy": ["<i4,(", 3]}}),
        ("parameters", {"n": {"numpy": ["|u1", 300]}}),
        ("parameters", {"n": {"numpy": ["<f4", 1e300]}}),
        ("parameters", {"n": {"array": ["<i4", [2**40, 2**40], [3]]}}),
        ("parameters", {"n": {"array": ["<i4", [-1], [3]]}}),
        ("parameters", {"n": {"dict": [[[], 1]]}}),
        ("parameters", {"n": {"dict": [[1]]}}),
        ("parameters", {"n": {"dict": 3}}),
        ("parameters", {"n": {"timedelta": [10**20, 0, 0]}}),
        ("parameters", {"n": {"date": "yesterday"}}),
        ("parameters", {"n": {"bytes": "xyz"}}),
        ("encoding", {}),
        ("encoding", {"names": [], "columns": []}),
    ],
    ids=lambda part: f"{part!r:.60}",
)
def test_parts_of_a_description_are_checked(whole, path, part, value):
    refuse(with_json(whole, {**description(whole), part: value}), path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_iter_", "3"),
        ("n_iter_", 3.0),
        ("n_iter_", True),
        ("loss_", None),
        ("status_", ["converged"]),
        ("unknown_", 1),
        ("__class__", "DBLClassifier"),
    ],
)
def test_facts_of_the_fit_are_checked(whole, path, name, value):
    data = description(whole)
    data["fit"][name] = value
    refuse(with_json(whole, data), path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("depth", 0),
        ("depth", 4),
        ("depth", 1),
        ("depth", 3),
        ("depth", "2"),
        ("groups", [[0, 1]]),
        ("groups", [[0, 1], [1, 2]]),
        ("groups", [[0, 1], [3]]),
        ("groups", [[0, 1], [-1]]),
        ("groups", [[0, 1, 2], []]),
        ("groups", [[0, 1], 2]),
        ("groups", [[0, 1], [2.0]]),
        ("groups", [[0], [1], [2]]),
        ("groups", []),
        ("sizes", []),
        ("sizes", [0]),
        ("sizes", [-1]),
        ("sizes", [10**30]),
        ("sizes", [1.5]),
        ("extra", 1),
    ],
)
def test_the_plan_is_checked(whole, path, key, value):
    data = description(whole)
    data["plan"] = {**grouped_plan(), key: value}
    refuse(with_json(whole, data, keys=GROUPED_KEYS), path)


# Columns a, b, c and u, v as one group; digits of keys have base 4 and 3.
GROUPED_KEYS = np.array([0, 1, 2, 1, 2, 1], np.uint8)


def grouped_plan():
    return {"depth": 2, "groups": [[0, 1], [2]], "sizes": [6]}


def test_a_plan_with_other_groups_loads_and_predicts_the_same(whole, path):
    data = {**description(whole), "plan": grouped_plan()}
    loaded = load_bytes(with_json(whole, data, keys=GROUPED_KEYS), path)
    np.testing.assert_allclose(loaded.predict_proba(X), MODEL.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    "keys",
    [
        np.array([0, 1, 2, 1, 2, 0], np.uint8),  # one comes twice
        np.array([0, 1, 1, 1, 2, 1], np.uint8),  # the digit of a value never seen
        np.array([0, 1, 2, 1, 2, 9], np.uint8),  # beyond the last key
        np.array([0, 1, 2, 1, 2, 2**64 - 1], np.uint64),  # wraps around
        np.array([0, 1, 2, 1, 2, 2**63], np.uint64),
        np.array([0, 1, 2, 1, 2, 1], np.int64),
        np.array([0, 1, 2, 1, 2, 1], np.float64),
        np.array([0, 1, 2, 1, 2], np.uint8),
        np.array([[0, 1, 2, 1, 2, 1]], np.uint8),
    ],
    ids=str,
)
def test_keys_are_checked(whole, path, keys):
    data = {**description(whole), "plan": grouped_plan()}
    refuse(with_json(whole, data, keys=keys), path, "keys")


@pytest.mark.parametrize(
    "terms",
    [
        np.array([[0, 0], [0, 2], [1, 2]], np.uint8),  # a column with itself
        np.array([[0, 1], [0, 1], [1, 2]], np.uint8),  # one twice
        np.array([[0, 2], [0, 1], [1, 2]], np.uint8),  # not in order
        np.array([[1, 0], [0, 2], [1, 2]], np.uint8),
        np.array([[0, 1], [0, 2], [1, 4]], np.uint8),  # no such column
        np.array([[3, 3], [0, 2], [1, 2]], np.uint8),  # no column at all
        np.array([[0, 3], [1, 3], [2, 3]], np.uint8),  # not as deep as it says
        np.array([[0, 1], [0, 2]], np.uint8),  # fewer cells than the arrays have
        np.array([[0, 1], [0, 2], [1, 2]], np.int64),
        np.array([[0, 1, 2], [0, 2, 3], [1, 2, 3]], np.uint8),  # deeper than it says
        np.empty((0, 2), np.uint8),
        np.empty((3, 0), np.uint8),
    ],
    ids=str,
)
def test_terms_are_checked(whole, path, terms):
    refuse(forge(whole, terms=terms), path)


def value_tensors(whole):
    names = ("scores", "scores.levels", "scores.codes", "scale", "scale.levels", "scale.codes")
    return [name for name in names if name in tensors_of(whole)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(whole, path, bad):
    for name in (*value_tensors(whole), "class_scores"):
        array = tensors_of(whole)[name].copy()
        if array.dtype.kind == "f":
            array.flat[0] = bad
            refuse(forge(whole, **{name.replace(".", "__"): array}), path, "not finite")


def test_arrays_of_other_shapes_and_types_are_refused(whole, path):
    for name, array in tensors_of(whole).items():
        if name == "json":
            continue
        argument = name.replace(".", "__")
        for changed in (array[None], array.astype(np.float16), array.astype(np.int32)):
            refuse(forge(whole, **{argument: changed}), path, name)
        if not name.endswith(("levels", "curve_")):
            refuse(forge(whole, **{argument: array[:-1]}), path)
            refuse(forge(whole, **{argument: np.concatenate([array, array])}), path)
        refuse(forge(whole, **{argument: None}), path)


def test_unknown_arrays_are_refused(whole, path):
    refuse(forge(whole, extra=np.zeros(3)), path, "unknown array 'extra'")


def test_scores_and_scales_of_different_types_are_refused(path):
    whole = save_bytes(LRClassifier(n=1).fit(X, Y), path)
    scores = tensors_of(whole)["scores"]
    forged = forge(whole, class_name="LRClassifier", scale=scores.astype(np.float32))
    refuse(forged, path, "differ in type")


def save_bytes(model, path):
    deepbroad.save(model, path)
    return path.read_bytes()


def unreached_model():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 50, (200, 2)).astype(str)
    return AnJEClassifier(n=2).fit(table, rng.integers(0, 2, 200))


def test_codes_and_marks_of_cells_are_checked(path):
    whole = save_bytes(unreached_model(), path)
    tensors = tensors_of(whole)
    assert {"kept", "scale.codes", "scores.levels", "scores.common"} <= set(tensors)
    anje = {"class_name": "AnJEClassifier"}
    codes = tensors["scale.codes"].copy()
    codes[0, 0] = len(tensors["scale.levels"])
    refuse(forge(whole, scale__codes=codes, **anje), path, "outside its levels")
    refuse(forge(whole, scores__levels=tensors["scores.levels"][:-1], **anje), path, "outside")
    kept = tensors["kept"].copy()
    kept[0] ^= 128
    refuse(forge(whole, kept=kept, **anje), path, "shape")
    kept = np.append(tensors["kept"], np.uint8(0))
    refuse(forge(whole, kept=kept, **anje), path, "shape")
    n_cells = unreached_model()._scorer.model.plan.terms.n_cells
    assert n_cells % 8
    kept = tensors["kept"].copy()
    kept[-1] |= 1
    refuse(forge(whole, kept=kept, **anje), path, "terms do not have")


def columns_of(*cardinalities):
    return {
        "names": [f"x{i}" for i in range(len(cardinalities))],
        "columns": [
            {"kind": "category", "attribute": i, "name": f"x{i}", "missing": False,
             "values": list(range(cardinality))}
            for i, cardinality in enumerate(cardinalities)
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cardinalities", "depth"),
    [
        ((3000, 3000, 3000), 3),  # 27 billion cells
        ((2,) * 62, 31),  # 10**17 terms
        ((1,) * 200, 100),  # deeper than any fit
        ((1,) * 60, 30),  # one cell each, but 10**17 of them
        ((1,) * 2000, 3),  # a billion terms of one cell
    ],
)
def test_small_files_cannot_ask_for_gigabytes(whole, path, cardinalities, depth):
    data = description(whole)
    data["encoding"] = columns_of(*cardinalities)
    groups = [[i] for i in range(len(cardinalities))]
    data["plan"] = {"depth": depth, "groups": groups, "sizes": []}
    refuse(with_json(whole, data), path, "smaller than its terms need|it joins")


def test_one_term_of_many_columns_cannot_stall_the_planner(whole, path):
    data = description(whole)
    data["encoding"] = columns_of(*[1] * 61)
    data["plan"] = {"depth": 60, "groups": [[i] for i in range(61)], "sizes": []}
    refuse(with_json(whole, data), path, "join more columns")


def test_groups_cannot_ask_for_tables_of_gigabytes(whole, path):
    # Three groups of 11 columns with two values: 2**33 joint values in one fused table.
    data = description(whole)
    data["encoding"] = columns_of(*[2] * 33)
    groups = [list(range(g, g + 11)) for g in (0, 11, 22)]
    data["plan"] = {"depth": 3, "groups": groups, "sizes": [2048] * 3}
    digits = np.indices((2,) * 11).reshape(11, -1)
    keys = (3 ** np.arange(10, -1, -1)) @ digits
    steps = np.tile(np.diff(keys, prepend=0), 3).astype(np.uint32)
    cells = np.zeros((5456 * 8, 3), np.float32)
    changes = {name.replace(".", "__"): None for name in value_tensors(whole)}
    forged = with_json(whole, data, keys=steps, **{**changes, "scores": cells, "scale": cells})
    refuse(forged, path, r"2\*\*31 entries")


def test_names_of_columns_must_be_those_of_attributes(whole, path):
    data = description(whole)
    data["encoding"]["columns"][0]["name"] = "other"
    refuse(with_json(whole, data), path, "names of its attributes")


def test_a_model_larger_than_the_memory_is_refused(whole, path, monkeypatch):
    monkeypatch.setattr("deepbroad.persist.model_file.parse_limit", lambda limit: 10)
    path.write_bytes(whole)
    with pytest.raises(MemoryError, match="are free"):
        deepbroad.load(path)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)


def places(data, path=()):
    """Go through the places in a JSON value."""
    yield path
    entries = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in entries:
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


@given(data=st.data())
def test_any_other_value_in_a_description_is_refused_or_makes_a_model(whole, path, data):
    for _ in range(10):
        changed = description(whole)
        *way, last = data.draw(st.sampled_from([p for p in places(changed) if p]))
        target = changed
        for key in way:
            target = target[key]
        target[last] = data.draw(json_values)
        try:
            model = load_bytes(with_json(whole, changed), path)
        except ModelFileError:
            continue
        assert model.n_features_in_ == 3
        assert model._scorer.probabilities(np.zeros((3, 2), np.uint8)).shape == (2, 3)


def test_a_file_too_small_for_its_tables_is_refused(whole, path, monkeypatch):
    monkeypatch.setattr("deepbroad.persist.model_file.SPARE_BYTES", -1e9)
    refuse(whole, path, "to predict")


def test_a_number_too_large_for_a_float_is_refused(whole, path):
    text = json.dumps({**description(whole), "parameters": {"alpha": 0.5}})
    refuse(with_json(whole, text.replace("0.5}", "1e999}", 1).encode()), path, "too large")
