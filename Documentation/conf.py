# SPDX-License-Identifier: GPL-2.0
"""What Sphinx needs to know; "make docs" runs it. sphinx/pages.py is the only extension."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "sphinx"))
sys.dont_write_bytecode = True

with open(os.path.join(HERE, "../drivers/infiniband/sw/iw_tcp/version.h"), encoding="utf-8") as header:
    release = ".".join(re.findall(r"^#define IWT_VERSION_[MP]\w+\s+(\d+)$", header.read(), re.M))

project = "iw_tcp"
author = "the iw_tcp authors"
copyright = "The authors; GPL-2.0."  # Sphinx's name for it
version = release

extensions = ["pages"]
source_suffix = ".rst"
root_doc = "index"
exclude_patterns = ["html", "sphinx"]  # "html" is in archives of "make dist"
highlight_language = "none"  # most literal blocks are commands or drawings
smartquotes = False  # a command is to be copied as it stands

html_theme = "basic"
templates_path = ["sphinx"]
html_static_path = ["sphinx/static"]
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_permalinks_icon = "#"
