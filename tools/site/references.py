"""What the references of Python and C++ need of Sphinx: the package without its extension, and that nothing is left out."""

import __future__

import pathlib
import sys
import types

from docutils import nodes, utils
from docutils.parsers.rst import roles
from sphinx.domains.python import PyXRefRole
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

ROOT = pathlib.Path(__file__).parents[2]
INTERNAL_HEADERS = {"skyrank.hpp", "export.hpp"}
logger = logging.getLogger(__name__)


def stand_in(name, stub):
    """Makes a module of a stub, whose annotations name classes that come later."""
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = str(stub)
    module.version = lambda: ""
    exec(compile(stub.read_text(encoding="utf-8"), stub, "exec", flags=__future__.annotations.compiler_flag), vars(module))


def public_name(target):
    """Returns skyrank.Name for skyrank._private.Name, under which a public class is documented."""
    parts = target.split(".")
    return ".".join(part for i, part in enumerate(parts) if i == 0 or not part.startswith("_"))


def find_public(app, env, node, content):
    """Resolves a reference to a class by the module that defines it, or by its bare name."""
    if node["reftarget"].endswith("_8hpp_source"):
        return content  # Doxygen's page of a header
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    name = public_name(target if target.startswith("skyrank.") else f"skyrank.{target}")
    found = env.domains["py"].objects.get(name) if name != target else None
    return found and make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, content, name)


def name_role(role, raw_text, text, line, inliner, options=None, content=()):
    """Makes a link of the name of something public, and code of any other words between backquotes."""
    import skyrank

    name = text.removesuffix("()")
    if name.startswith("skyrank.") or name in skyrank.__all__:
        return PyXRefRole()("py:obj", raw_text, text, line, inliner, options or {}, content)
    return [nodes.literal(raw_text, utils.unescape(text))], []


def open_lists(app, what, name, thing, options, lines):
    """Puts a blank line before each list, which reStructuredText wants."""
    for i in range(len(lines) - 1, 0, -1):
        if lines[i].lstrip().startswith("- ") and lines[i - 1].strip() and not is_in_list(lines, i - 1):
            lines.insert(i, "")


def is_in_list(lines, i):
    """Returns true if a line belongs to an item of a list."""
    indent = len(lines[i]) - len(lines[i].lstrip())
    while i >= 0 and lines[i].strip():
        if lines[i].lstrip().startswith("- "):
            return len(lines[i]) - len(lines[i].lstrip()) <= indent
        i -= 1
    return False


def check_all_is_there(app, env):
    import skyrank

    documented = {name.removeprefix("skyrank.") for name in env.domains["py"].objects}
    for name in sorted(set(skyrank.__all__) - documented):
        logger.warning("skyrank.%s is on no page of tools/site/python", name)
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "tools/site/cpp").glob("*.md"))
    for header in sorted((ROOT / "engine/include/skyrank").glob("*.hpp")):
        if header.name not in INTERNAL_HEADERS and f"{{doxygenfile}} {header.name}\n" not in pages:
            logger.warning("%s is on no page of tools/site/cpp", header.name)


def setup(app):
    stand_in("skyrank._core", ROOT / "engine/python/skyrank/_core.pyi")
    roles.register_local_role("name", name_role)
    app.connect("autodoc-process-docstring", open_lists, priority=400)  # before napoleon
    app.connect("missing-reference", find_public)
    app.connect("env-check-consistency", check_all_is_there)
    return {"parallel_read_safe": True}
