"""The words of a filter, looked at before a parser sees them.

Only words on a list go on, names must be fields of the schema, and nesting is counted: so no text reaches the parser that
could make it deep or slow, and most mistakes are found where they stand. A field's name goes on as a quoted name, whatever
SQL would take it for, so a field may be called ``date``, ``order`` or ``end``.
"""

from __future__ import annotations

from typing import Final

from sqlglot.errors import TokenError
from sqlglot.tokens import Token, Tokenizer, TokenType  # type: ignore[attr-defined]  # their home moves

from gossamer.errors import InterestError
from gossamer.interest.field import nearest, quoted
from gossamer.interest.schema import Schema

__all__ = ["HINT", "MAX_DEPTH", "MAX_TEXT", "complaint", "read_words"]

MAX_TEXT: Final = 8192
"""Characters a filter may have."""
MAX_DEPTH: Final = 16
"""Parentheses and NOTs that may stand inside each other."""
HINT: Final = "a filter is made of comparisons, BETWEEN, IN, LIKE 'abc%', IS NULL, AND, OR, NOT and parentheses"

_OPENING, _CLOSING = TokenType.L_PAREN, TokenType.R_PAREN
_CONNECTING = frozenset({TokenType.AND, TokenType.OR, TokenType.COMMA})
_NESTING = frozenset({TokenType.NOT, TokenType.DASH, _OPENING})
_COMPARING = frozenset({TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE})
_BEFORE_VALUES = _COMPARING | {TokenType.LIKE, TokenType.BETWEEN, TokenType.COMMA}
_MOMENTS = frozenset({TokenType.TIMESTAMP, TokenType.TIMESTAMPTZ, TokenType.DATE})
_WORDS = (
    _CONNECTING
    | _NESTING
    | _COMPARING
    | {_CLOSING, TokenType.IN, TokenType.IS, TokenType.LIKE, TokenType.BETWEEN}
    | {TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.NUMBER, TokenType.STRING}
)


def complaint(text: str, problem: str, place: tuple[int, int] = (0, 0), hint: str = "") -> InterestError:
    """An error at a place; line breaks become spaces, so that the mark below the text stands right."""
    line = "".join(" " if char in "\r\n\t\v\f" else char for char in text)
    return InterestError(problem, text=line, start=place[0], stop=place[1], hint=hint)


def read_words(schema: Schema, text: str) -> list[Token]:
    """The words of a filter over a schema's fields; InterestError at the first that cannot be in one."""
    if len(text) > MAX_TEXT:
        problem = f"the filter has {len(text)} characters, more than {MAX_TEXT}"
        raise InterestError(problem, hint="split it into several subscriptions")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise InterestError("the filter holds half of a surrogate pair", hint="decode it as UTF-8")
    try:
        tokens = Tokenizer().tokenize(text)
    except TokenError:
        raise _unclosed(text) from None
    _refuse_comments(text, tokens)
    if not tokens:
        raise complaint(text, "the filter is empty", hint="write TRUE to want everything")
    _count_nesting(text, tokens)
    kinds = [None, None, *(token.token_type for token in tokens), None]
    return [_checked(schema, text, token, kinds[t : t + 2], kinds[t + 3]) for t, token in enumerate(tokens)]


def _unclosed(text: str) -> InterestError:
    """The error for a text that ends inside quotes or a comment."""
    start, quote = 0, ""
    for i, char in enumerate(text):
        if not quote and char in "'\"":
            start, quote = i, char
        elif char == quote:
            quote = ""
    if quote:
        return complaint(text, "the quote is not closed", (start, len(text)), f"end it with {quote}; a quote inside is doubled")
    return complaint(text, "this cannot be read", (0, len(text)), HINT)


def _refuse_comments(text: str, tokens: list[Token]) -> None:
    """Comments could hide half a filter from who reads it."""
    if tokens and not any(token.comments for token in tokens):
        return
    inside = {i for token in tokens for i in range(token.start, token.end + 1)}
    for i in range(len(text) - 1):
        if text[i : i + 2] in ("--", "/*") and i not in inside:
            raise complaint(text, "a filter has no comments", (i, len(text)), "-- and /* begin comments; write conditions only")


def _count_nesting(text: str, tokens: list[Token]) -> None:
    """Refuse what is nested too deeply, before the parser climbs down into it, and parentheses without their other half."""
    level, opened, bases = 0, [], [0]
    for token in tokens:
        place = (token.start, token.end + 1)
        if token.token_type in _NESTING:
            level += 1
            if level > MAX_DEPTH:
                raise complaint(
                    text, f"nested more than {MAX_DEPTH} deep", place, "most parentheses and NOTs can be multiplied out"
                )
            if token.token_type == _OPENING:
                opened.append(token)
                bases.append(level)
        elif token.token_type == _CLOSING:
            if not opened:
                raise complaint(text, "this closes nothing", place, "remove it, or open it before")
            opened.pop()
            bases.pop()
            level = bases[-1]
        elif token.token_type in _CONNECTING:
            level = bases[-1]
    if opened:
        raise complaint(text, "this is not closed", (opened[-1].start, opened[-1].end + 1), "add the closing parenthesis")


def _checked(schema: Schema, text: str, token: Token, before: list[TokenType | None], after: TokenType | None) -> Token:
    """The word itself, if the language has it; a field's name as a quoted name, so that no name is a keyword."""
    kind, word, place = token.token_type, token.text, (token.start, token.end + 1)
    if kind in _WORDS or (kind in _MOMENTS and after == TokenType.STRING):
        return token
    if word in schema:
        if after == _OPENING:
            raise complaint(text, f"{word!r} is a field, not a function", place, HINT)
        return Token(TokenType.IDENTIFIER, word, token.line, token.col, token.start, token.end)
    if kind == TokenType.DOT and after == TokenType.NUMBER:
        raise complaint(text, "a number begins with a digit", place, "write 0.5")
    if after == _OPENING and kind != TokenType.IDENTIFIER:
        raise complaint(text, f"{word!r} is a function or a keyword, which a filter cannot use", place, HINT)
    if kind in {TokenType.IDENTIFIER, TokenType.VAR}:
        hint = nearest(word, schema.names, "fields")
        meant_as_text = before[-1] in _BEFORE_VALUES or before == [TokenType.IN, _OPENING]
        if meant_as_text and (kind == TokenType.IDENTIFIER or not hint.startswith("did you mean")):
            hint = f"texts stand in single quotes: {quoted(word)}"
        raise complaint(text, f"no field is called {word!r}", place, hint)
    raise complaint(text, f"{word!r} is not part of a filter", place, HINT)
