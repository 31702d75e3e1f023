"""How Sphinx makes the site of docs/ and of the docstrings: `make docs`."""

import html
import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging

import gridbuf
from gridbuf.machine import cxx_command

project = "gridbuf"
author = "the gridbuf developers"
version = release = gridbuf.__version__
project_copyright = author

extensions = [
    "myst_nb",  # Markdown; the cells of tutorials/ and gallery.md are run when the site is built
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",  # the cards of the first page
]
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"gridbuf {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False

myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True  # a cell may write files
# a tutorial imports the programs that it is about
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "examples")

# Programs that the cells of a page call. Where one is missing, the page is built without being run,
# and says so.
PROGRAMS = {
    "tutorials/first_stencil": cxx_command(),
    "watch": cxx_command(),
    "tutorials/fortran": "gfortran",
}
not_run = {page: program for page, program in PROGRAMS.items() if not shutil.which(program)}
nb_execution_excludepatterns = [f"{page}.md" for page in not_run]
for _page, _program in not_run.items():
    print(
        f"docs: {_program} is missing, so docs/{_page}.md is not run and shows no output",
        file=sys.stderr,
    )

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

default_role = "py:obj"  # what docstrings name is code, and a link where it is ours
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # the sections of a docstring say it in words
# interop describes itself without the libraries it serves; those of the tutorials are there.
autodoc_mock_imports = [
    name
    for name in ("cupy", "jax", "torch", "dace", "rmm", "mpi4py", "numba", "dask")
    if not find_spec(name)
]
napoleon_use_rtype = False
napoleon_use_ivar = True


def methods(module: str, described: set[str]) -> Iterator[str]:
    """Of the classes of a module, the public methods of ours that have no entry, neither there nor
    at a base.
    """
    names = vars(import_module(module))
    for cls in (names[name] for name in names["__all__"] if isinstance(names[name], type)):
        for name in dir(cls):
            owner = next(base for base in cls.__mro__ if name in vars(base))
            method = callable(attribute := getattr(cls, name)) and not isinstance(attribute, type)
            ours = method and owner.__module__.startswith("gridbuf")
            if (
                ours
                and name[0] != "_"
                and not any(f"{module}.{base.__name__}.{name}" in described for base in cls.__mro__)
            ):
                yield f"{module}.{cls.__name__}.{name}"


def every_public_name(app: Any, env: Any) -> None:
    """A name of an `__all__` that the reference lacks, for want of a docstring or of an option,
    ends `make docs`.
    """
    python = env.get_domain("py")
    with mock(autodoc_mock_imports):
        public = {
            f"{module}.{name}"
            for module in python.modules
            for name in import_module(module).__all__
        }
        public |= {
            method for module in python.modules for method in methods(module, set(python.objects))
        }
    for name in sorted(
        public - set(python.objects) - {"gridbuf.interop"}
    ):  # a package of modules, with a page
        logging.getLogger(__name__).warning("docs/api lacks %s", name)


def no_empty_last_lines(app: Any, tree: nodes.document) -> None:
    """The empty line that ends an example is for doctest."""
    for block in tree.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # not what has marks of its own in it
            block.rawsource = block.rawsource.rstrip("\n")
            block.children = []
            block += nodes.Text(block.rawsource)


def every_link(app: Any, failed: Any) -> None:
    """A link within the site that leads to no file, or to no place in it, ends `make docs`; `make
    links` asks the others.
    """
    if failed or app.builder.name != "html":
        return
    pages = [
        Path(app.builder.get_outfilename(name)).resolve()
        for name in (*app.env.found_docs, "genindex")
    ]
    texts = {path: path.read_text() for path in pages}
    places = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    for page, text in texts.items():
        for link in map(html.unescape, re.findall(r'\b(?:href|src)="([^"]*)"', text)):
            address, _, place = unquote(link).partition("#")
            to = (page.parent / address.partition("?")[0]).resolve() if address else page
            outside = re.match(r"\w+:|//", link)
            if not outside and (
                not to.exists() or (place and place not in places.get(to, {place}))
            ):
                raise ExtensionError(f"{page.name}: {link} leads nowhere")


def say_what_was_not_run(app: Any, page: str, source: list[str]) -> None:
    """A page whose cells have no output begins with the reason."""
    if page in not_run:
        title = re.search(r"^# .*\n", source[0], re.MULTILINE)
        at = title.end() if title else 0
        note = (
            f"\n```{{note}}\nBuilt on a machine without {not_run[page]}: the cells of this page"
            " were not run.\n```\n"
        )
        source[0] = source[0][:at] + note + source[0][at:]


def setup(app: Any) -> None:
    app.connect("source-read", say_what_was_not_run)
    app.connect("env-check-consistency", every_public_name)
    app.connect("doctree-read", no_empty_last_lines)
    app.connect("build-finished", every_link)
