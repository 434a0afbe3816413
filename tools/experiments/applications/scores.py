"""The most fearful texts, by the share of their words that are in a list (Gaihre et al., SC 2021, table 1).

The paper scores tweets on COVID-19 by a lexicon of the NRC. Here the texts are the docstrings of Python's own library, and the
list is the short one below. As with the paper's, few scores are different and most rows tie.
"""

import importlib
import inspect
import re

import numpy

WANTED = 20
WORDS = frozenset("abort broken closed crash danger dangerous dead die error errors exception exceptions fail failed fails "
                  "failure fatal halt harm illegal impossible insecure invalid kill killed lost missing never overflow "
                  "panic problem raise raised raises risk terminate unsafe unexpected warning wrong".split())
MODULES = ("argparse", "asyncio", "codecs", "collections", "concurrent.futures", "csv", "ctypes", "datetime", "decimal", "email",
           "fractions", "functools", "http.client", "inspect", "io", "itertools", "json", "logging", "multiprocessing", "os",
           "pathlib", "pickle", "random", "re", "shutil", "signal", "socket", "sqlite3", "ssl", "statistics", "string",
           "subprocess", "tarfile", "tempfile", "threading", "traceback", "unittest", "urllib.request", "uuid",
           "warnings", "weakref", "xml.dom.minidom", "zipfile")


def docstrings():
    """Returns (name, docstring) of the modules and what they define, in the order of their names."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        found[name] = inspect.getdoc(module)
        for attribute, value in inspect.getmembers(module):
            if inspect.isclass(value) or inspect.isroutine(value):
                found[f"{name}.{attribute}"] = inspect.getdoc(value)
                members = inspect.getmembers(value) if inspect.isclass(value) else ()
                found.update({f"{name}.{attribute}.{member}": inspect.getdoc(it) for member, it in members
                              if inspect.isroutine(it)})
    return sorted((name, text) for name, text in found.items() if text)


def score(text):
    """Returns the share of the words that are in the list."""
    words = re.findall(r"[a-z]+", text.lower())
    return sum(word in WORDS for word in words) / max(1, len(words))


def most_fearful(scores, wanted=WANTED):
    import skyrank  # the data can be had without

    return skyrank.top_k({"score": scores}, wanted, skyrank.high("score"), ties="all").rows


def draw(picture):
    texts = docstrings()
    scores = numpy.array([score(text) for _, text in texts])
    best = most_fearful(scores)
    panel = picture.subplots()
    panel.plot(numpy.arange(1, len(scores) + 1), numpy.sort(scores)[::-1], color="#1b6ca8", drawstyle="steps-mid",
               label="all texts")
    panel.plot(numpy.arange(1, len(best) + 1), scores[best], "o", color="#d1495b", markersize=3,
               label=f"top {WANTED}, with ties {len(best)}")
    panel.set(xlabel="rank", ylabel="share of fearful words", xscale="log")
    panel.legend(frameon=False)
    return (f"scores: {len(scores):,} docstrings have {len(numpy.unique(scores))} different scores; the top {WANTED} with "
            f"ties are {len(best)}, the first of them {texts[best[0]][0]}")
