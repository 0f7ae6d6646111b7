"""Models and tables whose reports are tested, and reports as data."""

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from deepbroad import DBLClassifier, LRClassifier
from tests.estimators.tables import mixed_table

HOSTILE = "</script><img src=x onerror=alert(1)>&amp;\"'`${1}\u2028"


def three_classes():
    """Return a model of three classes with its rows."""
    X, y = mixed_table()
    return DBLClassifier(n=2, alpha=[1.0, 3.0]).fit(X, y), X, y


def two_classes():
    """Return a model of two classes, one of its attributes with missing values, with its rows."""
    X, y = mixed_table(n_classes=2)
    X.loc[::7, "length"] = np.nan
    return DBLClassifier(n=2, alpha=[1.0, 3.0]).fit(X, y), X, y


def hostile_names():
    """Return a model whose attributes, values and classes would be markup if they could."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            f"a{HOSTILE}": rng.choice([f"p{HOSTILE}", f"q{HOSTILE}", "$title"], 200),
            f"b{HOSTILE}": rng.choice([f"r{HOSTILE}", "\ud800"], 200),
        },
        dtype=object,
    )
    y = np.where(X.iloc[:, 0] == "$title", f"yes{HOSTILE}", f"no{HOSTILE}").astype(object)
    y[:9] = "</title><script>alert(2)</script>"
    return LRClassifier(n=2).fit(X, y), X, y


class Page(HTMLParser):
    """The elements of a page, the texts of its tables' cells, and the data of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells, self.links = [], [], []
        self.scripts = []
        self._inside = None
        self.feed(text)
        self.close()

    @property
    def data(self):
        return json.loads(self.scripts[0])

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [v for k, v in attributes if k in ("src", "href")]
        self._inside = tag
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif self.cells and self._inside in ("td", "th", "span"):
            self.cells[-1] += data
