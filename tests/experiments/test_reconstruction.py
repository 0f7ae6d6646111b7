import numpy as np
import pyarrow as pa
import pytest

from deepbroad import MDLDiscretizer
from deepbroad.experiments.dataset import MismatchError
from deepbroad.experiments.reconstruction import (
    cut_by_all_rows,
    join_indicators,
    reconstruct_covertype,
)


def make_cover(rows=60):
    """Rows of two numbers, four areas and three soils, as indicator columns of texts."""
    random = np.random.default_rng(0)
    area, soil = random.integers(4, size=rows), random.integers(3, size=rows)
    height = random.normal(size=rows)
    columns = {"Elevation": height, "Slope": random.normal(size=rows)}
    columns |= {f"Wilderness_Area{i + 1}": (area == i).astype(int).astype(str) for i in range(4)}
    columns |= {f"Soil_Type{i + 1}": (soil == i).astype(int).astype(str) for i in range(3)}
    return pa.table(columns), np.where(height > 0, "high", "low"), area, soil


def test_indicators_of_texts_categories_and_numbers_join_alike():
    X, _, area, _ = make_cover()
    names = [name for name in X.column_names if name.startswith("Wilderness")]
    encoded, numbers = X, X
    for name in names:
        position = X.column_names.index(name)
        encoded = encoded.set_column(position, name, X[name].dictionary_encode())
        numbers = numbers.set_column(position, name, X[name].cast(pa.int64()))
    expected = [f"Wilderness_Area{i + 1}" for i in area]
    for table in (X, encoded, numbers):
        joined = join_indicators(table, "Wilderness_Area")
        assert joined["Wilderness_Area"].to_pylist() == expected
        assert not set(names) & set(joined.column_names)


def test_columns_that_are_no_indicators_are_refused():
    X, *_ = make_cover()
    two = X.set_column(2, "Wilderness_Area1", pa.array(["1"] * X.num_rows))
    with pytest.raises(MismatchError, match="not every row has one 1"):
        join_indicators(two, "Wilderness_Area")


def test_numbers_become_the_bins_of_all_rows():
    X, y, *_ = make_cover()
    X = X.select(["Elevation", "Soil_Type1"])
    found = cut_by_all_rows(X, y)
    bins = MDLDiscretizer().fit_transform(X["Elevation"].to_numpy()[:, None], y)[:, 0]
    assert found["Elevation"].to_pylist() == [str(int(value)) for value in bins]
    assert found["Soil_Type1"].equals(X["Soil_Type1"])


def test_covertype_has_its_numbers_one_area_and_one_soil():
    X, y, *_ = make_cover()
    found = reconstruct_covertype(X, y)
    assert found.column_names == ["Elevation", "Slope", "Wilderness_Area", "Soil_Type"]
    assert all(pa.types.is_string(kind) for kind in found.schema.types)
