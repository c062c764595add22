# SPDX-License-Identifier: GPL-2.0
"""Finds small faults that can be made in a C file. Each fault changes one operator, constant,
condition, flag, barrier, returned value or cell of a table, or removes one statement.

The functions do not parse C, but split the file into tokens. A change keeps parentheses balanced.
A change may not compile; then run.py does not count it. The functions leave these parts of the
code unchanged: code that only observes (assertions, tracepoints, counters), declarations, and
lines of the preprocessor.
"""

import re
from collections import namedtuple

# One fault. line: number of the line; where: offset in the file; old: the text at this offset; new:
# the text that replaces it; what: a description for reports
Mutant = namedtuple("Mutant", "path line where old new what")

SWAPS = {
    "<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="],
    "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "+=": ["-="], "-=": ["+="],
    "&": ["|"], "|": ["&"], "|=": ["&="], "&=": ["|="], "<<": [">>"], ">>": ["<<"],
    "++": ["--"], "--": ["++"], "min": ["max"], "max": ["min"], "min_t": ["max_t"],
    "true": ["false"], "false": ["true"],
    "smp_store_release": ["WRITE_ONCE"], "smp_load_acquire": ["READ_ONCE"],
    "GFP_ATOMIC": ["GFP_KERNEL"],
}
TOKEN = re.compile(r"""
    (?P<blank>\s+|/\*.*?\*/|//[^\n]*)
  | (?P<cpp>(?<![^\n])\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>0[xX][0-9a-fA-F]+\w*|\d+\w*)
  | (?P<op><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.X | re.S)
# statements that begin with one of these words only observe, and do not change what the driver does
WATCHES = re.compile(r"(BUG_ON|BUILD_BUG|WARN|lockdep_|might_sleep|static_assert|trace_|kmemleak_|"
                     r"MODULE_|EXPORT_|DEFINE_|DECLARE_|CREATE_|pr_|dev_|ibdev_|sock_owned_by_me|iwt_count|iwt_stat)")
KEYWORDS = {"if", "else", "for", "while", "do", "switch", "case", "default", "return", "goto",
            "break", "continue", "sizeof", "typeof", "struct", "union", "enum", "static", "const",
            "unsigned", "int", "char", "void", "long", "bool", "extern", "inline"}

Token = namedtuple("Token", "kind text where")


def tokens(source):
    """Returns the tokens of the text source, without white space, comments and lines of the
    preprocessor."""
    return [Token(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(source)
            if m.lastgroup not in ("blank", "cpp")]


def closing(toks, i):
    """Returns the index of the parenthesis or brace that closes the parenthesis or brace at i."""
    depth = 0
    for j in range(i, len(toks)):
        if toks[j].text in "([{":
            depth += 1
        elif toks[j].text in ")]}":
            depth -= 1
            if depth == 0:
                return j
    return len(toks) - 1


def bodies(toks):
    """Yields (first, end) for the tokens of each function's body; end is the index of the closing
    brace. A body begins with a brace after a parenthesis, outside of all other braces."""
    i = 0
    while i < len(toks):
        if toks[i].text == "{":
            end = closing(toks, i)
            if i and toks[i - 1].text == ")":
                yield i + 1, end
            i = end
        i += 1


def statements(toks, first, last):
    """Yields (begin, end) for each simple statement among toks[first:last]; end is the index of its
    semicolon."""
    begin, i, depth, choices = first, first, 0, 0
    while i < last:
        text = toks[i].text
        if text == "?":
            choices += 1
        elif text == ":" and choices:
            choices -= 1
            i += 1
            continue
        if text in "([":
            depth += 1
        elif text in ")]":
            depth -= 1
            # after the condition of if, for, while and switch, another statement begins
            if depth == 0 and toks[begin].text in ("if", "for", "while", "switch"):
                begin = i + 1
        elif depth == 0 and text in "{}:":
            begin = i + 1
        elif depth == 0 and text in ("else", "do"):
            begin = i + 1
        elif depth == 0 and text == ";":
            yield begin, i
            begin = i + 1
        i += 1


def declares(toks, begin, end):
    """Does the statement toks[begin:end] declare a variable? Such statements begin with "word
    word", with "type *word", or with a word such as struct or const."""
    if toks[begin].kind != "word" or begin == end:
        return False
    if toks[begin].text in ("struct", "union", "enum", "static", "const", "unsigned"):
        return True
    after = [t for t in toks[begin + 1:begin + 4]]
    if after and after[0].kind == "word":
        return True
    return len(after) > 1 and after[0].text == "*" and after[1].kind == "word" \
        and toks[begin].text in ("void", "u8", "u16", "u32", "u64", "int", "long", "bool", "size_t", "__be32")


def deletions(path, source, toks, first, last):
    """Yields the faults that remove one statement."""
    for begin, end in statements(toks, first, last):
        if begin >= end or declares(toks, begin, end) or WATCHES.match(toks[begin].text):
            continue
        word = toks[begin].text
        if word in ("case", "default", "goto") or (word == "return" and end > begin + 1):
            continue
        where = toks[begin].where
        old = source[where:toks[end].where + 1]
        yield Mutant(path, line_of(source, where), where, old, ";", "no such statement")


def condition(toks, i):
    """Returns the index of the "if" whose condition ends with the parenthesis at index i. Returns
    i + 1 if the parenthesis does not belong to an "if"."""
    depth = 0
    for j in range(i, 0, -1):
        depth += (toks[j].text in ")]") - (toks[j].text in "([")
        if depth == 0:
            return j - 1 if toks[j - 1].text == "if" else i + 1
    return i + 1


def watched(toks, first, last):
    """Returns the set of indexes of the tokens in statements that only observe."""
    found = set()
    for begin, end in statements(toks, first, last):
        if not WATCHES.match(toks[begin].text):
            continue
        # include the condition of the statement, if the condition guards nothing else
        if toks[begin - 1].text == ")" and toks[end + 1].text != "else":
            begin = condition(toks, begin - 1)
        found.update(range(begin, end + 1))
    return found


def unary(toks, i):
    """Is the operator at index i a sign, or a unary "&" or "*"?"""
    before = toks[i - 1]
    return not (before.kind in ("number", "string") or before.text in (")", "]")
                or (before.kind == "word" and before.text not in KEYWORDS))


def replaced(path, source, tok, new, what):
    return Mutant(path, line_of(source, tok.where), tok.where, tok.text, new, what)


def constants(tok):
    """Returns the texts that may replace a number: the numbers above and below it."""
    value = int(re.sub(r"[uUlL]+$", "", tok.text), 0)
    return [str(value + 1)] + ([str(value - 1)] if value else [])


def changes(path, source, toks, first, last):
    """Yields the faults that replace an operator, a number, a condition or the value of a
    return."""
    skip = watched(toks, first, last)
    for i in range(first, last):
        tok = toks[i]
        if i in skip:
            continue
        if tok.kind == "number":
            for new in constants(tok):
                yield replaced(path, source, tok, new, "%s for %s" % (new, tok.text))
        elif tok.text in SWAPS and not (tok.text in "+-&" and unary(toks, i)):
            for new in SWAPS[tok.text]:
                yield replaced(path, source, tok, new, "%s for %s" % (new, tok.text))
        elif tok.text == "!" and tok.kind == "op":
            yield replaced(path, source, tok, "", "no !")
        elif tok.text in ("if", "while") and toks[i + 1].text == "(":
            end = closing(toks, i + 1)
            where = toks[i + 1].where
            old = source[where:toks[end].where + 1]
            yield Mutant(path, line_of(source, where), where, old, "(!%s)" % old, "condition turned round")
        elif tok.text == "return" and toks[i + 1].text != ";":
            end = next(j for j in range(i, last) if toks[j].text == ";")
            where = toks[i + 1].where
            old = source[where:toks[end].where]
            if old not in ("0", "NULL", "false", "true", "IWT_OK"):
                yield Mutant(path, line_of(source, where), where, old, "0", "result 0")


def tables(toks):
    """Finds tables outside of functions, whose cells are "[NAME] = VALUE,". Yields a list for each
    table: (begin, end), indexes into toks, for each VALUE."""
    inside = set()
    for first, last in bodies(toks):
        inside.update(range(first, last))
    for i, tok in enumerate(toks):
        if tok.text != "{" or i in inside or toks[i - 1].text != "=":
            continue
        cells, end, j = [], closing(toks, i), i + 1
        while j < end:
            if toks[j].text == "=" and toks[j - 1].text == "]" and toks[j + 1].text != "{":
                stop = j + 1
                while stop < end and toks[stop].text != ",":
                    stop = closing(toks, stop) if toks[stop].text in "([{" else stop
                    stop += 1
                cells.append((j + 1, stop))
                j = stop
            elif toks[j].text == "{" and cells:
                break
            j += 1
        if cells:
            yield cells


def cells_changed(path, source, toks):
    """Yields the faults that replace the value of a table's cell by the value of the next cell."""
    for cells in tables(toks):
        texts = [source[toks[a].where:toks[b - 1].where + len(toks[b - 1].text)] for a, b in cells]
        for (first, _), text, other in zip(cells, texts, texts[1:] + texts[:1]):
            if "".join(text.split()) != "".join(other.split()):
                where = toks[first].where
                yield Mutant(path, line_of(source, where), where, text, other, "%s for it" % " ".join(other.split()))


def line_of(source, where):
    return source.count("\n", 0, where) + 1


def mutants(path):
    """Returns all faults for the file at path, in the order of the places in the file."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    toks = tokens(source)
    found = []
    for first, last in bodies(toks):
        found += deletions(path, source, toks, first, last)
        found += changes(path, source, toks, first, last)
    found += cells_changed(path, source, toks)
    return sorted(set(found), key=lambda m: (m.where, m.new))


def applied(source, mutant):
    """Returns source, the text of the file, with this fault in it."""
    end = mutant.where + len(mutant.old)
    if source[mutant.where:end] != mutant.old:
        raise ValueError("%s has changed meanwhile" % mutant.path)
    return source[:mutant.where] + mutant.new + source[end:]
