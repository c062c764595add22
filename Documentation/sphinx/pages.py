# SPDX-License-Identifier: GPL-2.0
"""A Sphinx extension for "make docs": it shows manual pages, gives literal blocks classes, lets
tables scroll, and writes the texts that the search page searches. The pages load no file from the
network."""
import json
import os
import re
import shutil

from docutils import nodes
from docutils.parsers.rst import Directive

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
# Pages whose literal blocks without a mark are drawings. In other pages such blocks are commands.
DRAWINGS = ("abi", "architecture")
WIDE = 5  # a table with this number of columns or more keeps its width on a small screen

FONTS = {"B": nodes.strong, "I": nodes.emphasis, "R": None}
ESCAPES = (("\\-", "-"), ("\\(aq", "'"), ("\\(bu", "*"), ("\\&", ""), ("\\e", "\\"))


def spans(text):
    """Returns the nodes for a text with the font escapes \\fB, \\fI and \\fR."""
    out, font = [], None
    for part in re.split(r"(\\f[BIRP])", text):
        if re.fullmatch(r"\\f[BIRP]", part):
            font = FONTS.get(part[2])
            continue
        for code, char in ESCAPES:
            part = part.replace(code, char)
        if part:
            out.append(font("", part) if font else nodes.Text(part))
    return out


def fonts_of(macro, rest):
    """Returns the text of a macro such as ".BR a b", with the fonts as escapes."""
    words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', rest)]
    if len(macro) == 1:
        return "\\f%s%s\\fR" % (macro, " ".join(words))
    return "".join("\\f%s%s" % (macro[i % 2], word) for i, word in enumerate(words)) + "\\fR"


class Manual:
    """Makes nodes of the macros that the manual pages of this tree use."""

    def __init__(self, lines):
        self.out, self.text, self.item, self.term = [], [], None, False
        self.literal = None
        for line in lines:
            self.line(line)
        self.flush()

    def add(self, node):
        (self.item if self.item is not None else self.out).append(node)

    def flush(self):
        """Ends a paragraph."""
        if self.text:
            paragraph = nodes.paragraph()
            paragraph += spans("\n".join(self.text))
            self.add(paragraph)
            self.text = []

    def begin_item(self, text):
        entry = nodes.definition_list_item()
        term = nodes.term()
        term += spans(text)
        self.item = nodes.definition()
        entry += [term, self.item]
        if not self.out or not isinstance(self.out[-1], nodes.definition_list):
            self.out.append(nodes.definition_list())
        self.out[-1].append(entry)

    def words(self, text):
        if self.term:
            self.term = False
            self.begin_item(text)
        elif self.literal is not None:
            self.literal.append(text)
        else:
            self.text.append(text)

    def end_literal(self):
        block = nodes.literal_block()
        block += spans("\n".join(self.literal))
        block["classes"].append("synopsis")
        self.add(block)
        self.literal = None

    def line(self, line):
        macro = re.match(r"\.([A-Z]+|in|nf|fi|)(?: +(.*))?$", line)
        if line.startswith('.\\"'):
            return
        if not macro:
            if line.startswith("."):
                raise ValueError("manual page: unknown macro: " + line)
            self.words(line)
            return
        name, rest = macro[1], macro[2] or ""
        if name in ("B", "I", "BR", "BI", "IR", "IB", "RB", "RI"):
            self.words(fonts_of(name, rest))
        elif name in ("SH", "SS"):
            self.flush()
            self.item = None
            self.out.append(nodes.rubric("", rest.strip('"').capitalize()))
        elif name in ("PP", "TP"):
            self.flush()
            self.item, self.term = None, name == "TP"
        elif name in ("nf", "EX"):
            self.flush()
            self.literal = []
        elif name in ("fi", "EE"):
            self.end_literal()
        elif name not in ("TH", "in", ""):
            raise ValueError("manual page: unknown macro: " + line)


class ManualPage(Directive):
    """The directive ".. manpage:: FILE". FILE is a path from the root directory of this tree."""
    required_arguments = 1

    def run(self):
        path = os.path.join(TOP, self.arguments[0])
        self.state.document.settings.env.note_dependency(path)
        with open(path, encoding="utf-8") as file:
            return Manual(file.read().split("\n")).out


def kind_of(block, docname):
    """Returns "command", "output", "file" or "drawing". The comment before the block determines
    which; if there is no such comment, the page determines it."""
    before = block.parent.children[:block.parent.index(block)]
    mark = re.match(r"(recipe|output|file)\b", before[-1].astext()) if before and isinstance(before[-1], nodes.comment) else None
    if mark:
        return "command" if mark[1] == "recipe" else mark[1]
    return "drawing" if docname in DRAWINGS else "command"


def mark_nodes(app, doctree):
    """Gives each literal block its class, and puts each table into a box that can scroll."""
    for block in list(doctree.findall(nodes.literal_block)):
        if not block["classes"]:
            block["classes"].append(kind_of(block, app.env.docname))
    for table in list(doctree.findall(nodes.table)):
        box = nodes.container(classes=["table"])
        if table.next_node(nodes.tgroup)["cols"] >= WIDE:
            box["classes"].append("wide")
        table.replace_self(box)
        box += table


def texts_of(docname, doctree):
    """Yields [address, page, heading, text] for each section."""
    page = doctree.next_node(nodes.title).astext()
    for section in doctree.findall(nodes.section):
        first = section.parent is doctree
        text = " ".join(child.astext() for child in section.children
                        if not isinstance(child, (nodes.section, nodes.title, nodes.comment, nodes.system_message)))
        heading = section.next_node(nodes.title).astext()
        yield [docname + ".html" + ("" if first else "#" + section["ids"][-1]), page, heading, " ".join(text.split())]


TEXTS = {}  # page: list of the entries that texts_of() yields


def note_texts(_app, doctree, docname):
    TEXTS[docname] = list(texts_of(docname, doctree))


def break_names(app, doctree, _docname):
    """Lets a browser break long names in tables after each underscore and each point."""
    if app.builder.format != "html":
        return
    for entry in doctree.findall(nodes.entry):
        for text in [t for t in entry.findall(nodes.Text) if re.search(r"\w+[_.]\w{2}", t)]:
            parts = re.split(r"(?<=\w[_.])(?=\w)", text)
            new = [nodes.Text(parts[0])]
            for part in parts[1:]:
                new += [nodes.raw("", "<wbr>", format="html"), nodes.Text(part)]
            text.parent.replace(text, new)


def finish(app, error):
    """Writes texts.js for the search page, and removes scripts and indices of Sphinx that no page
    uses."""
    if error or app.builder.name != "html":
        return
    static = os.path.join(app.outdir, "_static")
    for name in os.listdir(static):
        if name not in os.listdir(OURS):
            path = os.path.join(static, name)
            (shutil.rmtree if os.path.isdir(path) else os.remove)(path)
    for name in ("searchindex.js", "objects.inv", ".buildinfo"):
        if os.path.exists(os.path.join(app.outdir, name)):
            os.remove(os.path.join(app.outdir, name))
    texts = [entry for name in sorted(TEXTS) for entry in TEXTS[name]]
    with open(os.path.join(static, "texts.js"), "w", encoding="utf-8") as file:
        file.write("const TEXTS = [\n%s\n];\n" % ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in texts))


def setup(app):
    app.add_directive("manpage", ManualPage)
    app.connect("doctree-read", mark_nodes)
    app.connect("doctree-resolved", note_texts)
    app.connect("doctree-resolved", break_names)  # after note_texts: the texts need whole names
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
