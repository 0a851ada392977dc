"""When Python looks for garbage: seldom, and not in what a process loaded at its start."""

from __future__ import annotations

import atexit
import gc
from importlib import import_module

#: That many more containers than were freed, until it is looked for garbage among the newest.
_NEW_OBJECTS = 20_000
#: The same while pages are answered; how often that until it is looked among those that outlived
#: a search, and how often that until it is looked among all. To go through 20,000 objects takes
#: half as long as a page of 500 runs, through those of ten such searches as long as all of it.
_WHILE_SERVING = 5_000, 5, 50


def collect_seldom() -> None:
    """To be called before anything large is imported.

    To look for garbage in two thousand modules, again and again while they are imported and once
    more at the end, takes a fourth of a short command's processor time, beside what is measured.
    A page of 500 runs passes the usual threshold of 700 objects many times.
    """
    gc.set_threshold(_NEW_OBJECTS)
    atexit.register(gc.freeze)


def preload() -> None:
    """Import all pages and what they compute with, and leave that out of the search for garbage.

    The search goes through some hundred thousand objects of what is loaded and finds nothing in
    them; a request in which it happened took 150 ms longer. From here on it is looked for garbage
    more often and each time in less.
    """
    from django.urls import resolve

    resolve("/")
    import_module("scipy.special")
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_WHILE_SERVING)
