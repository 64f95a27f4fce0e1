"""Reading a filter's text: the WHERE clause of SQL, as far as boxes can answer it.

sqlglot reads SQL, which is far more than filters are. So its words are looked at before (`gossamer.interest.words`) and its
tree after: only kinds of nodes on a list, with only the settings known of them, become conditions. What a later sqlglot
may learn to read, or to say with a new setting of an old node, is refused until somebody looks at it: ``NOT LIKE``, for
one, has been both a node above and a setting.

Every error carries its place in the text and something to try. Functions, subqueries, casts, arithmetic, and comparisons
of two fields are refused: a box could not say them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, TypeAlias

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parser import Parser
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]  # their home moves

from gossamer.errors import InterestError
from gossamer.interest.condition import FALSE, TRUE, Comparison, Condition, Either, Every, Op
from gossamer.interest.field import AnyField
from gossamer.interest.label import Bool, Datetime, String
from gossamer.interest.schema import Schema
from gossamer.interest.words import HINT, complaint, read_words

__all__ = ["read"]

Node: TypeAlias = exp.Expr

_OPS: dict[type[Node], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
_TURNED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
_UNPLACED: dict[type[Node], set[TokenType]] = {
    exp.Null: {TokenType.NULL},
    exp.Boolean: {TokenType.TRUE, TokenType.FALSE},
}
_CASTS = frozenset({exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.DATE})


def read(schema: Schema, text: str) -> Condition:
    """The condition a text states about a schema's fields; InterestError when it states none."""
    reader = _Reader(schema, text)
    try:
        return reader.condition(reader.tree(), negated=False)
    except RecursionError:  # the caller stood deep already; our own depth is bounded
        raise reader.error("the filter is nested too deeply") from None


class _Reader:
    """One text being read."""

    def __init__(self, schema: Schema, text: str) -> None:
        self.schema, self.text = schema, text
        self.tokens = read_words(schema, text)
        self.kinds: dict[type[Node], tuple[set[str], Callable[[Any, bool], Condition]]] = {
            exp.And: ({"this", "expression"}, self._joined),
            exp.Or: ({"this", "expression"}, self._joined),
            exp.Not: ({"this"}, self._not),
            exp.Paren: ({"this"}, lambda node, negated: self.condition(node.this, negated=negated)),
            exp.Boolean: ({"this"}, lambda node, negated: TRUE if bool(node.this) != negated else FALSE),
            exp.Column: ({"this"}, self._truth),
            exp.Between: ({"this", "low", "high", "negate"}, self._between),
            exp.In: ({"this", "expressions", "negate"}, self._in),
            exp.Like: ({"this", "expression", "negate"}, self._like),
            exp.Is: ({"this", "expression", "negate"}, self._is),
            **dict.fromkeys(_OPS, ({"this", "expression"}, self._compared)),
        }

    def error(self, problem: str, place: tuple[int, int] = (0, 0), hint: str = "") -> InterestError:
        """An error at a place in the text."""
        return complaint(self.text, problem, place, hint)

    def tree(self) -> Node:
        """The tree sqlglot makes of the text."""
        try:
            found = Parser().parse(self.tokens, self.text)
        except ParseError as error:
            raise self._unreadable(error) from None
        if len(found) != 1 or found[0] is None:
            raise self.error("this is not one condition", (0, len(self.text)), HINT)
        return found[0]

    def _unreadable(self, error: ParseError) -> InterestError:
        """The parser's complaint, at the word it stumbled over."""
        about = error.errors[0] if error.errors else {}
        at = [t for t in self.tokens if (t.line, t.col) == (about.get("line"), about.get("col"))] or self.tokens[-1:]
        place = (at[0].start, at[0].end + 1)
        if str(about.get("description", "")).startswith("Required keyword"):
            return self.error("something is missing here", place, "conditions look like price > 10 or price BETWEEN 10 AND 12")
        return self.error("this was not expected here", place, "join conditions with AND or OR; texts stand in single quotes")

    def condition(self, node: Node, *, negated: bool) -> Condition:
        """A node as a condition, with every NOT above it pushed down."""
        if type(node) not in self.kinds:
            self._refuse(node)
        known, handler = self.kinds[type(node)]
        self._known(node, known)
        return handler(node, negated)

    def _known(self, node: Node, known: set[str]) -> None:
        """Refuse settings of a node that nobody has looked at: they could change what it means."""
        for key, value in node.args.items():
            if value and key not in known:
                self._refuse(node)

    def _refuse(self, node: Node) -> NoReturn:
        if isinstance(node, exp.Literal | exp.Neg):
            raise self.error("a value alone is not a condition", self._place(node), "compare a field with it")
        raise self.error("this is not part of a filter", self._place(node), HINT)

    def _place(self, *nodes: Node) -> tuple[int, int]:
        """From the first to the last name or value in some nodes."""
        if len(nodes) == 1 and type(nodes[0]) in _UNPLACED:
            return self._word(nodes[0])
        metas = [part.meta for node in nodes for part in node.walk() if isinstance(part, exp.Literal | exp.Identifier)]
        spots = [(meta["start"], meta["end"] + 1) for meta in metas if "start" in meta]
        return (min(start for start, _ in spots), max(stop for _, stop in spots)) if spots else (0, len(self.text))

    def _word(self, node: Node) -> tuple[int, int]:
        """The place of NULL, TRUE or FALSE, which sqlglot does not keep: the first such word of what is around it."""
        start, stop = self._place(node.parent) if node.parent is not None else (0, len(self.text))
        kinds = _UNPLACED[type(node)]
        return next(((t.start, t.end + 1) for t in self.tokens if t.start >= start and t.token_type in kinds), (start, stop))

    def _joined(self, node: exp.And | exp.Or, negated: bool) -> Condition:  # noqa: FBT001  (handlers are looked up)
        """A chain of ANDs or ORs, however long, without recursion along it."""
        parts: list[Condition] = []
        chain: list[Node] = [node]
        while chain:
            part = chain.pop()
            if type(part) is type(node):
                self._known(part, {"this", "expression"})
                chain += [part.args["expression"], part.args["this"]]
            else:
                parts.append(self.condition(part, negated=negated))
        joined = Every if isinstance(node, exp.And) != negated else Either
        return joined(tuple(inner for part in parts for inner in (part.parts if isinstance(part, joined) else (part,))))

    def _not(self, node: exp.Not, negated: bool) -> Condition:  # noqa: FBT001
        return self.condition(node.this, negated=not negated)

    def _truth(self, node: exp.Column, negated: bool) -> Condition:  # noqa: FBT001
        d, field = self._field(node)
        if not isinstance(field, Bool):
            raise self.error(
                f"{field.name} is of type {field.kind}, not a condition",
                self._place(node),
                f"compare it, or {field.name} IS NOT NULL",
            )
        return Comparison(d, field, Op.EQ, (int(not negated),))

    def _compared(self, node: exp.Binary, negated: bool) -> Condition:  # noqa: FBT001
        left, right, op = _bare(node.left), _bare(node.right), _OPS[type(node)]
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            raise self.error(
                "two fields are compared",
                self._place(left, right),
                "compare a field with a value; texts stand in single quotes",
            )
        if isinstance(right, exp.Column):
            left, right, op = right, left, _TURNED.get(op, op)
        d, field = self._field(left)
        return Comparison(d, field, op.negated if negated else op, (self._bound(field, right),))

    def _between(self, node: exp.Between, negated: bool) -> Condition:  # noqa: FBT001
        d, field = self._field(node.this)
        low, high = node.args["low"], node.args["high"]
        keys = self._bound(field, low), self._bound(field, high)
        if keys[0] > keys[1]:
            shown = field.show(keys[1]), field.show(keys[0])
            raise self.error("BETWEEN begins above its end", self._place(low, high), f"write BETWEEN {shown[0]} AND {shown[1]}")
        return Comparison(d, field, self._op(Op.BETWEEN, node, negated=negated), keys)

    def _in(self, node: exp.In, negated: bool) -> Condition:  # noqa: FBT001
        d, field = self._field(node.this)
        if not node.expressions:
            raise self.error("IN needs values in parentheses", self._place(node), f"write {field.name} IN (..., ...)")
        keys = dict.fromkeys(self._bound(field, value) for value in node.expressions)
        return Comparison(d, field, self._op(Op.IN, node, negated=negated), tuple(keys))

    def _like(self, node: exp.Like, negated: bool) -> Condition:  # noqa: FBT001
        d, field = self._field(node.this)
        place = self._place(node.expression)
        if not isinstance(field, String):
            raise self.error(
                f"{field.name} is of type {field.kind}, and LIKE asks strings",
                place,
                f"compare it, or write {field.name} IN (...)",
            )
        if not (isinstance(node.expression, exp.Literal) and node.expression.is_string):
            raise self.error("LIKE needs a text", place, "write LIKE 'abc%'")
        pattern = node.expression.name
        start = pattern.removesuffix("%")
        if "%" in start or "_" in start:
            plain = start.replace("%", "_").split("_")[0]
            raise self.error(
                "only the beginning of a text can be asked for", place, f"write LIKE '{plain or 'abc'}%', one % and no _"
            )
        key = self._bound(field, node.expression) if start == pattern else field.key(start)
        return Comparison(d, field, self._op(Op.EQ if start == pattern else Op.STARTS, node, negated=negated), (key,))

    def _is(self, node: exp.Is, negated: bool) -> Condition:  # noqa: FBT001
        d, field = self._field(node.this)
        if not isinstance(node.expression, exp.Null):
            raise self.error(
                "IS asks for NULL only", self._place(node.expression), f"write {field.name} IS NULL, or {field.name} = ..."
            )
        return Comparison(d, field, self._op(Op.NULL, node, negated=negated), ())

    @staticmethod
    def _op(op: Op, node: Node, *, negated: bool) -> Op:
        """The operation, turned round when a NOT stands above or in it."""
        return op.negated if negated != bool(node.args.get("negate")) else op

    def _field(self, node: Node) -> tuple[int, AnyField]:
        """The field a node names, and its place in the vector."""
        node = _bare(node)
        if not isinstance(node, exp.Column):
            raise self.error(
                "no field is asked here", self._place(node), f"compare a field: {', '.join(self.schema.names[:8])}"
            )
        self._known(node, {"this"})
        if not isinstance(node.this, exp.Identifier):
            self._refuse(node)
        d = self.schema.index(node.name)
        return d, self.schema.fields[d]

    def _bound(self, field: AnyField, node: Node) -> Any:  # noqa: ANN401  (of the field's key type)
        """The key of a value in the text."""
        try:
            return field.bound(self._value(field, node))
        except InterestError as error:
            if error.text:
                raise
            raise self.error(error.problem, self._place(node), error.hint) from None

    def _value(self, field: AnyField, node: Node) -> object:
        """A value in the text as Python has it."""
        node = _bare(node)
        match node:
            case exp.Literal(is_string=True):
                return node.name
            case exp.Literal():
                return self._number(node)
            case exp.Neg(this=exp.Literal(is_string=False)):
                return -self._number(node.this)
            case exp.Boolean():
                return bool(node.this)
            case exp.Null():
                raise self.error("nothing equals NULL", self._place(node), f"write {field.name} IS NULL")
            case exp.Cast(this=exp.Literal(is_string=True)) if node.to.this in _CASTS:
                return self._moment(field, node)
            case exp.Column():
                raise self.error("a field stands where a value should", self._place(node), "texts stand in single quotes")
        raise self.error(
            "a value was expected here", self._place(node), "write a number, a text in single quotes, TRUE or FALSE"
        )

    def _number(self, node: Node) -> int | Decimal:
        """A number, exactly as written."""
        digits = node.name
        try:
            return int(digits) if digits.isdecimal() else Decimal(digits)
        except (InvalidOperation, ValueError):
            raise self.error("this number cannot be read", self._place(node), "write 10, 10.5 or 1e6") from None

    def _moment(self, field: AnyField, node: exp.Cast) -> str:
        """The text of a TIMESTAMP or DATE."""
        text = str(node.this.name)
        if not isinstance(field, Datetime):
            raise self.error(f"{field.name} is of type {field.kind}, not datetime", self._place(node))
        if node.to.this == exp.DataType.Type.DATE:
            try:
                date.fromisoformat(text)
            except ValueError:
                raise self.error("this is no date", self._place(node), "write DATE '2026-01-31'") from None
        return text


def _bare(node: Node) -> Node:
    """A node without the parentheses around it."""
    while type(node) is exp.Paren:
        node = node.this
    return node
