"""Pages of the sources and folders that the Markdown pages link to, so that such links work in the site too."""

import html
import pathlib
import posixpath
import subprocess

import pygments.lexers
import pygments.util
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

ROOT = pathlib.Path(__file__).parents[2]
PAGES = "sources"  # folder of the site
PICTURES = (".png", ".svg")
TEMPLATE = pathlib.Path(__file__).parent / "templates/source.html"


def tracked(folder):
    """Returns the files of a folder that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    return sorted(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())


class LinkSources(SphinxTransform):
    """Has links to files and folders lead to their pages, which `write_pages` makes."""

    default_priority = 5  # before links are collected as downloads

    def apply(self):
        here = posixpath.dirname(self.env.docname)
        wanted = (addnodes.download_reference, addnodes.pending_xref)
        for node in list(self.document.findall(lambda node: isinstance(node, wanted))):
            path = posixpath.normpath(posixpath.join(here, node.get("reftarget", "").lstrip("/")))
            if isinstance(node, addnodes.pending_xref) and (node.get("reftype") != "myst" or not (ROOT / path).is_dir()):
                continue
            if not (ROOT / path).exists() or path.endswith(PICTURES):
                continue
            self.app.linked_sources.add(path)
            address = self.app.builder.get_relative_uri(self.env.docname, f"{PAGES}/{path}")
            node.replace_self(nodes.reference("", "", *node.children, refuri=address, internal=True))


def highlighted(app, path):
    text = (ROOT / path).read_text(encoding="utf-8")
    try:
        language = pygments.lexers.get_lexer_for_filename(path).aliases[0]
    except pygments.util.ClassNotFound:
        language = "text"
    return app.builder.highlighter.highlight_block(text, language)


def write_pages(app, error):
    """Writes a page for each linked file and folder, and for each text in such a folder, without the theme, for time."""
    if error:
        return
    listings = {path: tracked(path) for path in app.linked_sources if (ROOT / path).is_dir()}
    files = {path for path in app.linked_sources if path not in listings}
    files.update(path for paths in listings.values() for path in paths if not path.endswith((*PICTURES, ".md")))
    for path in sorted(files):
        write_page(app, path, highlighted(app, path))
    for folder, paths in sorted(listings.items()):
        items = []
        for path in (path for path in paths if path in files):
            address = html.escape(relative_uri(f"{PAGES}/{folder}.html", f"{PAGES}/{path}.html"))
            items.append(f'<li><a href="{address}">{html.escape(posixpath.relpath(path, folder))}</a></li>')
        write_page(app, folder, f"<ul>{''.join(items)}</ul>")


def write_page(app, path, body):
    name = f"{PAGES}/{path}.html"
    start = relative_uri(name, f"{app.config.root_doc}.html")
    style = relative_uri(name, "_static/pygments.css")
    text = TEMPLATE.read_text(encoding="utf-8").format(title=html.escape(path), body=body, start=start, style=style)
    place = app.outdir / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def setup(app):
    app.linked_sources = set()
    app.add_transform(LinkSources)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": False}
