"""The site: ``make docs`` builds it into docs/_build/html, without a network and with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.ext import autosummary

import steinball

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

# A summary in the tables of the reference ends with its sentence, not with an abbreviation.
autosummary.WELL_KNOWN_ABBREVIATIONS = (*autosummary.WELL_KNOWN_ABBREVIATIONS, "App.", "eq.", "Prop.", "cf.")

project = "steinball"
author = "the steinball developers"
version = release = steinball.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "live_report",
    "docstrings",
    "outside",
]
exclude_patterns = ["_build", "_ext", "_templates", "**/tables"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

default_role = "code"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "steinball"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# Pages without pages below them: an empty navigation would take a fifth of the width.
html_sidebars = {name: [] for name in ("index", "getting-started", "i-have-a")}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "guide": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = "the steinball developers, MIT license"
