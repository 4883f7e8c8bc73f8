"""Many C files as one, by the compiler's preprocessor and the scopes of names.

Every file is preprocessed alone, but for the C library's headers, and cut into declarations. What
several files declare alike is written once. Names that are a file's own (static, types, constants)
and that mean something else in a file before it get a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\d[\w.]*|[A-Za-z_]\w*|->|[^\s\w]')
_WORD = re.compile(r"[A-Za-z_]\w*\Z")
_NO_NAMES = {"__attribute__", "_Static_assert", "sizeof", "__asm__", "static_assert", "const"}
_OPEN, _CLOSE = "([{", ")]}"
_NOT_TYPES = {"return", "else", "case", "goto", "sizeof", "do"}
_TYPES = re.compile(r"(?:const|void|char|short|int|long|float|double|bool|unsigned|\w+_t|ek_\w+)\Z")


@dataclass(frozen=True)
class Declaration:
    """What stands at the outermost level of a file: `own` names that no other file sees, and names
    that it `mentions`; of those, types whose members it need not know are `opaque`."""

    text: str
    own: frozenset[str]
    mentions: frozenset[str]
    opaque: frozenset[str] = frozenset()


def declarations(preprocessed: str) -> Iterator[Declaration]:
    """Those of a file that the preprocessor has been through, in their order."""
    lines = [line for line in preprocessed.splitlines() if not re.match(r"# \d", line)]
    text = "\n".join(lines)
    start = 0
    for end in _ends(text):
        one = re.sub(r"\n\s*\n+", "\n", text[start:end].strip())
        while one.startswith("#"):
            pragma, _, one = one.partition("\n")
            yield Declaration(pragma, frozenset(), frozenset())
        if one.strip("; \n"):
            yield _declaration(one.strip())
        start = end


def _ends(text: str) -> Iterator[int]:
    """Where each declaration ends: at a semicolon, or at the brace behind a function's body."""
    depth, before, body = 0, "", False
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in _OPEN:
            body = body or (token == "{" and depth == 0 and before == ")")
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        if depth == 0 and (token == ";" or (token == "}" and body)):
            yield found.end()
            body = False
        before = token


@cache
def _declaration(text: str) -> Declaration:
    tokens = _TOKEN.findall(text)
    tags = {b for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if a in ("struct", "union", "enum") and c == "{"}  # fmt: skip
    own = tags | set(_constants(tokens))
    forward = tokens[:2] == ["typedef", "struct"] and len(tokens) == 5  # of a type that may stay so
    if not forward and ("static" in tokens or "typedef" in tokens):
        own |= set(_declared(tokens))
    opaque = {b for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)
              if a == "struct" and (c == "*" or forward)}  # fmt: skip
    return Declaration(text, frozenset(own), frozenset(_mentioned(tokens)), frozenset(opaque))


def _declared(tokens: list[str]) -> Iterator[str]:
    """The names of functions, objects and types that a declaration is of."""
    depth = 0
    if "typedef" in tokens:
        for i in range(len(tokens) - 3):
            if tokens[i] == "(" and tokens[i + 1] == "*" and tokens[i + 3] == ")":
                yield tokens[i + 2]
                return
    for token, behind in zip(tokens, [*tokens[1:], ";"], strict=True):
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif depth == 0 and behind in tuple("([=;,") and token not in _NO_NAMES:
            if not _WORD.match(token):
                continue
            yield token
            if behind == "(":
                return


def _constants(tokens: list[str]) -> Iterator[str]:
    """The constants of an enum at the outermost level."""
    depth, inside, before = 0, False, ""
    for i, token in enumerate(tokens):
        if token == "{" and depth == 0:
            inside = "enum" in tokens[max(i - 2, 0) : i]
        if inside and depth == 1 and before in ("{", ",") and _WORD.match(token):
            yield token
        depth += (token in _OPEN) - (token in _CLOSE)
        before = token


def _locals(tokens: list[str]) -> set[str]:
    """The names of parameters, variables in functions, and members: what follows a type."""
    found: set[str] = set()
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token in _OPEN) - (token in _CLOSE)
        if not depth or not _WORD.match(token) or tokens[i + 1] not in tuple(";,[:)="):
            continue
        before = tokens[i - 1]
        if before == "*":
            type_of = next(t for t in reversed(tokens[:i]) if t != "*")
            is_type = bool(_TYPES.match(type_of))
        else:
            is_type = bool(_WORD.match(before)) and before not in _NOT_TYPES
        if is_type:
            found.add(token)
    return found


def _mentioned(tokens: list[str]) -> Iterator[str]:
    """The identifiers that the whole file knows."""
    for hidden, token in _words(tokens):
        if not hidden:
            yield token


def _words(tokens: list[str]) -> Iterator[tuple[bool, str]]:
    """Each identifier, and whether it is a member of a structure or known in a function alone."""
    braces: list[bool] = []
    inside = _locals(tokens)
    for i, token in enumerate(tokens):
        if token == "{":
            braces.append(bool({"struct", "union"} & set(tokens[max(i - 2, 0) : i])))
        elif token == "}":
            braces.pop()
        elif _WORD.match(token):
            before = tokens[i - 1] if i else ""
            behind = tokens[i + 1] if i + 1 < len(tokens) else ""
            of_structure = bool(braces) and braces[-1] and behind in tuple(";,[:)")
            bound = before == "[" and behind == "]"
            hidden = before in (".", "->") or token in inside or (of_structure and not bound)
            yield hidden, token


@dataclass
class _File:
    """A file's declarations, and what its own names are called in the whole."""

    declarations: list[Declaration]
    called: dict[str, str] = field(default_factory=dict)

    def meanings(self) -> dict[str, str]:
        """Of each own name a hash of all that it stands for."""
        of: dict[str, list[Declaration]] = {}
        for d in self.declarations:
            for name in d.own:
                of.setdefault(name, []).append(d)
        opaque = {name for d in self.declarations for name in d.opaque}
        known = of.keys() - opaque
        links = {name: {m for d in ds for m in d.mentions & known} for name, ds in of.items()}
        found: dict[str, str] = {}
        for group in _components(links):
            texts = sorted({d.text for name in group for d in of[name]})
            around = {found[m] for name in group for m in links[name] if m not in group}
            meaning = sha256("\0".join([*texts, "", *sorted(around)]).encode()).hexdigest()
            found |= {name: f"{name} {meaning}" for name in group}
        return found


def _components(links: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected ones of a graph, what they link to before them (Tarjan, 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    done: set[str] = set()
    for root in links:
        if root in index:
            continue
        work = [(root, iter(sorted(links[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(links[other]))))
                    break
                if other not in done:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    done |= set(stack[at:])
                    del stack[at:]
    return found


def amalgamated(header: str, files: Iterable[str]) -> str:
    """The C of `files` as one file that includes `header`; all are preprocessed."""
    written: set[str] = set()
    names: dict[str, list[str]] = {}  # what a name has meant so far
    out: list[str] = []
    for i, text in enumerate([header, *files]):
        file = _File(list(declarations(text)))
        for name, meaning in file.meanings().items():
            known = names.setdefault(name, [])
            if meaning not in known:
                known.append(meaning)
            at = known.index(meaning)
            if at:
                file.called[name] = f"{name}_{at + 1}"
        for d in file.declarations:
            one = _renamed(d, file.called)
            if one not in written and not one.startswith("#pragma STDC"):
                written.add(one)
                if i:
                    out.append(one)
    return "\n".join(out) + "\n"


def _renamed(declaration: Declaration, called: Mapping[str, str]) -> str:
    changed = called.keys() & (declaration.mentions | declaration.own)
    if not changed:
        return declaration.text
    text = declaration.text
    hidden = iter([hidden for hidden, _ in _words(_TOKEN.findall(text))])

    def put(found: re.Match[str]) -> str:
        token = found[0]
        if not _WORD.match(token):
            return token
        return token if next(hidden) else called.get(token, token)

    return _TOKEN.sub(put, text)
