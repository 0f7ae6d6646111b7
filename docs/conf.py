"""How Sphinx builds the site: `make docs`. Nothing is fetched, neither here nor by the pages."""

import sys
from pathlib import Path

import deepbroad

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "deepbroad"
author = "The deepbroad developers"
release = version = deepbroad.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "reproduction_summary",
]
exclude_patterns = ["reproduction/**", "generated/**"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # numpydoc names the types
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes that are properties too are described once
napoleon_use_rtype = False

html_theme = "furo"
html_title = "deepbroad"
html_show_sphinx = False
html_math_renderer = "mathml"
pygments_style = "friendly"
