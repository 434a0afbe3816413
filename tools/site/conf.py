"""The configuration of Sphinx: `tools/test.sh site` builds the pages of the tree, where they are, to build/site."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools/site"), str(ROOT / "engine/python")]


def listed_pages():
    """Returns the pages that git knows or would add. One that no table of contents names is an error."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    return sorted(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())


project = author = "SkyRank"
root_doc = "tools/site/index"
include_patterns = listed_pages()
exclude_patterns = [".deps", ".git", "build"]  # which need not be looked through
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "breathe", "references", "sources"]

# Anchors are those that GitHub makes.
myst_heading_anchors = 4

# The stub of the extension stands for it, and these are not imported, so that no build is needed.
autodoc_mock_imports = ["botorch", "dask", "deap", "matplotlib", "numpy", "optuna", "pandas", "polars", "pyarrow", "pymoo",
                        "pyspark", "torch"]
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}
napoleon_use_ivar = True
default_role = "name"  # of references.py

breathe_projects = {"skyrank": str(ROOT / "build/api-xml")}
breathe_default_project = "skyrank"
breathe_show_include = False

# References of the Python pages must lead somewhere, but for names of other libraries and private ones.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!skyrank\b).*|.*\._\w+"), ("cpp:.*", ".*")]
suppress_warnings = ["duplicate_declaration.cpp"]  # every header opens the same namespace

html_theme = "furo"
html_title = "SkyRank"
html_theme_options = {"footer_icons": []}
html_show_sphinx = False
html_copy_source = False
templates_path = ["templates"]
html_additional_pages = {"index": "to_start.html"}
