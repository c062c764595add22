# SPDX-License-Identifier: GPL-2.0
"""What Sphinx needs to know; "make docs" runs it. No extension, no file from the network."""

project = "iw_tcp"
author = "the iw_tcp authors"
copyright = "the authors; GPL-2.0"  # Sphinx's name for it

source_suffix = ".rst"
root_doc = "index"
exclude_patterns = []
highlight_language = "none"  # most literal blocks are commands, tables or drawings
smartquotes = False  # a command is to be copied as it stands

html_theme = "alabaster"
html_theme_options = {
    "description": "RDMA over any Ethernet port",
    "fixed_sidebar": True,
    "page_width": "72em",
}
html_copy_source = False
html_show_sphinx = False
