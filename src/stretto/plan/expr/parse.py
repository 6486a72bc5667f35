"""Reads the whole of CEL (cel-spec langdef, Syntax: the grammar) into a tree with places, by recursive descent.

Beyond the grammar only trailing commas and mixed unary signs are taken. Optional syntax (``a.?b``), which the
evaluating library does not know either, is recognised and refused by name.
"""

from typing import Final

from stretto.plan.expr import literals
from stretto.plan.expr.hints import WORD_OPERATORS
from stretto.plan.expr.problem import ExprCode, ExprProblems, refuse
from stretto.plan.expr.syntax import (
    Binary,
    Call,
    Comprehension,
    Conditional,
    Has,
    Ident,
    Index,
    ListOf,
    Literal,
    Logic,
    Macro,
    MapOf,
    Message,
    Node,
    Select,
    Uint,
    Unary,
)
from stretto.plan.expr.tokens import NUMBERS, Lexeme, Token, read_tokens
from stretto.spec.texts import CEL_KEYWORDS, CEL_RESERVED

MAX_DEPTH: Final = 48
"""Nesting of the tree. The grammar asks for at least 32; each level costs a dozen Python frames here and some 3 KB of
the evaluating library's stack, which overflows a 512 KB thread at about 150."""

BINDING: Final = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/%", 5),
    "||": 1,
    "&&": 2,
}
"""How tightly a binary operator binds; all of them to the left."""

UNARY_BINDING: Final = 6

CONSTANTS: Final = {"true": True, "false": False, "null": None}

CLOSING: Final = {"(": ")", "[": "]", "{": "}"}

MACRO_NAMES: Final = {**{str(macro): macro for macro in Macro}, "existsOne": Macro.EXISTS_ONE}


def parse(source: str) -> Node:
    """The tree of an expression. Raises ExprProblems with the first thing wrong."""
    reader = _Reader(source)
    if reader.peek().kind is Token.END:
        raise refuse(ExprCode.SYNTAX, "the expression is empty", 0, len(source), expected="a CEL expression")
    tree = reader.expression()
    reader.expect_end()
    return tree


class _Reader:
    """A place in the list of tokens, and how deep the reading is."""

    def __init__(self, source: str) -> None:
        self._tokens = read_tokens(source)
        self._at = 0
        self._nesting = 0

    # Moving over the tokens

    def peek(self) -> Lexeme:
        return self._tokens[min(self._at, len(self._tokens) - 1)]

    def _take(self) -> Lexeme:
        lexeme = self.peek()
        self._at += 1
        return lexeme

    def _takes(self, mark: str) -> Lexeme | None:
        lexeme = self.peek()
        return self._take() if lexeme.kind is Token.MARK and lexeme.text == mark else None

    def _close(self, opening: Lexeme, also: str = "") -> Lexeme:
        """Take the bracket that closes `opening`; at the end of the text, the opening one is what is shown."""
        closing = CLOSING[opening.text]
        if taken := self._takes(closing):
            return taken
        found = self.peek()
        if found.kind is Token.END:
            message = f"`{opening.text}` is never closed"
            raise refuse(ExprCode.SYNTAX, message, opening.start, opening.end, expected=f"`{closing}`")
        raise self._unexpected(found, f"{also}`{closing}`")

    def expect_end(self) -> None:
        if self.peek().kind is not Token.END:
            raise self._unexpected(self.peek(), "an operator or the end of the expression")

    def _unexpected(self, found: Lexeme, expected: str) -> ExprProblems:
        message, suggestion = f"{found.in_words} is not expected here", ""
        before = self._tokens[self._at - 1] if self._at else None
        if found.text in WORD_OPERATORS and found.kind is Token.IDENT:
            message, suggestion = f"`{found.text}` is no CEL operator", WORD_OPERATORS[found.text]
        elif found.kind is Token.DOUBLE and found.text.startswith(".") and before:
            suggestion = f"[{found.text[1:]}]"
        elif found.text in CLOSING.values():
            message = f"`{found.text}` closes nothing that is open here"
        elif before and before.kind is Token.IDENT and before.text in WORD_OPERATORS:
            message, suggestion = f"`{before.text}` is no CEL operator", WORD_OPERATORS[before.text]
            found = before
        return refuse(ExprCode.SYNTAX, message, found.start, found.end, expected=expected, suggestion=suggestion)

    # Keeping the tree shallow

    def _depth(self, start: int, *children: Node | None) -> int:
        """Depth of a new node over its children."""
        depth = 1 + max((child.depth for child in children if child), default=0)
        if depth > MAX_DEPTH:
            raise self._too_deep(start)
        return depth

    def _too_deep(self, start: int) -> ExprProblems:
        return refuse(
            ExprCode.TOO_LARGE,
            f"the expression is nested more than {MAX_DEPTH} deep",
            start,
            self.peek().end,
            expected=f"at most {MAX_DEPTH} levels",
            suggestion="compute a part of it in a component and read it here",
        )

    # Operators

    def expression(self) -> Node:
        """Expr: a condition and its two branches, or one without."""
        start = self.peek().start
        self._nesting += 1
        if self._nesting > MAX_DEPTH:
            raise self._too_deep(start)
        tree = self._binary(1)
        if question := self._takes("?"):
            tree = self._branches(tree, question)
        self._nesting -= 1
        return tree

    def _branches(self, condition: Node, question: Lexeme) -> Node:
        optional = self.peek()
        then = self._binary(1)
        if not self._takes(":"):
            if optional.text == "." and optional.start == question.end:
                raise self._no_optional(question.start, optional.end, ".")
            raise self._unexpected(self.peek(), "`:` and the value otherwise")
        otherwise = self.expression()
        depth = self._depth(condition.start, condition, then, otherwise)
        return Conditional(condition.start, otherwise.end, depth, condition, then, otherwise)

    def _binary(self, weakest: int) -> Node:
        left = self._unary()
        while (operator := self._operator()) and BINDING[operator.text] >= weakest:
            self._take()
            right = self._binary(BINDING[operator.text] + 1)
            left = self._join(left, operator, right)
        return left

    def _operator(self) -> Lexeme | None:
        found = self.peek()
        return found if found.text in BINDING and found.kind in (Token.MARK, Token.IDENT) else None

    def _join(self, left: Node, operator: Lexeme, right: Node) -> Node:
        text = operator.text
        if text not in ("&&", "||"):
            depth = self._depth(left.start, left, right)
            return Binary(left.start, right.end, depth, text, left, right)
        before = left.operands if isinstance(left, Logic) and left.operator == text else (left,)
        operands = (*before, right)
        return Logic(left.start, right.end, self._depth(left.start, *operands), text, operands)

    def _unary(self) -> Node:
        sign = self._takes("!") or self._takes("-")
        if sign is None:
            return self._member()
        if sign.text == "-" and self.peek().kind in (Token.INT, Token.DOUBLE):
            return self._member(negative=sign)
        self._nesting += 1
        if self._nesting > MAX_DEPTH:
            raise self._too_deep(sign.start)
        operand = self._unary()
        self._nesting -= 1
        return Unary(sign.start, operand.end, self._depth(sign.start, operand), sign.text, operand)

    # Selection, indexing, calls

    def _member(self, negative: Lexeme | None = None) -> Node:
        tree = self._number(negative) if negative else self._primary()
        while True:
            if self._takes("."):
                tree = self._dotted(tree)
            elif bracket := self._takes("["):
                tree = self._indexed(tree, bracket)
            elif self.peek().text == "{" and (name := _qualified(tree)):
                tree = self._message(name, tree.start)
            else:
                return tree

    def _dotted(self, operand: Node) -> Node:
        name = self._take()
        if name.text == "?":
            raise self._no_optional(name.start - 1, name.end, ".")
        if name.kind not in (Token.IDENT, Token.ESCAPED) or name.text in CEL_KEYWORDS:
            self._at -= 1
            raise self._no_field(name, operand)
        field = name.text.strip("`")
        if name.kind is Token.IDENT and (opening := self._takes("(")):
            return self._call(name, opening, operand)
        return Select(operand.start, name.end, self._depth(operand.start, operand), operand, field, name.start)

    def _no_field(self, found: Lexeme, operand: Node) -> ExprProblems:
        if isinstance(operand, Literal) and isinstance(operand.value, int):
            start, end = operand.start, self._tokens[self._at - 1].end
            return refuse(ExprCode.SYNTAX, "a number ends with its point", start, end, expected="a digit after it")
        suggestion = f"['{found.text}']" if found.text in CEL_KEYWORDS else ""
        message = f"{found.in_words} is no field name"
        expected = "a field name or a method after `.`"
        return refuse(ExprCode.SYNTAX, message, found.start, found.end, expected=expected, suggestion=suggestion)

    def _indexed(self, operand: Node, bracket: Lexeme) -> Node:
        if question := self._takes("?"):
            raise self._no_optional(bracket.start, question.end, "[")
        index = self.expression()
        closing = self._close(bracket)
        return Index(operand.start, closing.end, self._depth(operand.start, operand, index), operand, index)

    def _no_optional(self, start: int, end: int, plain: str) -> ExprProblems:
        return refuse(
            ExprCode.UNSUPPORTED,
            "optional syntax is not needed here",
            start,
            end,
            expected="a plain path: what is missing reads as null",
            suggestion=plain,
        )

    def _call(self, name: Lexeme, opening: Lexeme, target: Node | None) -> Node:
        arguments = self._list(opening, also="`,` or ")
        end = self._tokens[self._at - 1].end
        start = target.start if target else name.start
        if target and name.text in MACRO_NAMES:
            return self._comprehension(name, target, arguments, end)
        if target is None and name.text == "has":
            return self._has(name, arguments, end)
        depth = self._depth(start, target, *arguments)
        return Call(start, end, depth, name.text, name.start, target, tuple(arguments))

    def _has(self, name: Lexeme, arguments: list[Node], end: int) -> Node:
        selected = arguments[0] if len(arguments) == 1 else None
        if not isinstance(selected, Select):
            at = arguments[0] if arguments else name
            expected = "one path that ends in a field: has(input.order.id)"
            raise refuse(ExprCode.ARGUMENTS, "has() takes a field", at.start, at.end, expected=expected)
        return Has(name.start, end, self._depth(name.start, selected), selected)

    def _comprehension(self, name: Lexeme, target: Node, arguments: list[Node], end: int) -> Node:
        macro = MACRO_NAMES[name.text]
        counts = (2, 3) if macro is Macro.MAP else (2,)
        variable = arguments[0] if arguments else None
        if len(arguments) not in counts or not isinstance(variable, Ident) or variable.rooted:
            at = variable if variable and not isinstance(variable, Ident) else name
            expected = f"a name for the item and an expression: .{name.text}(x, x > 0)"
            message = f"{name.text}() was not given these"
            raise refuse(ExprCode.ARGUMENTS, message, at.start, at.end, expected=expected)
        kept = arguments[1] if len(arguments) == 3 else None
        depth = self._depth(target.start, target, *arguments)
        return Comprehension(target.start, end, depth, macro, target, variable.name, arguments[-1], kept)

    def _message(self, name: str, start: int) -> Node:
        opening = self._take()
        fields: list[tuple[str, Node]] = []
        while not self._at_closing(opening):
            field = self._take()
            if field.kind not in (Token.IDENT, Token.ESCAPED) or not self._takes(":"):
                raise self._unexpected(field, "a field name and `:`")
            fields.append((field.text.strip("`"), self.expression()))
            if not self._takes(","):
                break
        closing = self._close(opening, "`,` or ")
        return Message(start, closing.end, self._depth(start, *(value for _, value in fields)), name, tuple(fields))

    # Primaries

    def _primary(self) -> Node:
        found = self._take()
        if found.kind is Token.IDENT:
            return self._name(found, rooted=False)
        if found.kind is Token.MARK and found.text == "." and self.peek().kind is Token.IDENT:
            return self._name(self._take(), rooted=True)
        if found.kind is Token.MARK and found.text in CLOSING:
            return self._bracketed(found)
        if found.kind in NUMBERS:
            self._at -= 1
            return self._number(None)
        if found.kind in (Token.STRING, Token.BYTES):
            return self._quoted(found)
        self._at -= 1
        raise self._unexpected(found, "a path, a constant or `(`")

    def _name(self, name: Lexeme, *, rooted: bool) -> Node:
        if name.text in CONSTANTS and not rooted:
            return Literal(name.start, name.end, 1, CONSTANTS[name.text])
        if name.text in CEL_RESERVED or name.text in CEL_KEYWORDS:
            raise refuse(
                ExprCode.SYNTAX,
                f"`{name.text}` is a reserved word",
                name.start,
                name.end,
                expected="a path, a constant or `(`",
                suggestion=WORD_OPERATORS.get(name.text, ""),
            )
        if opening := self._takes("("):
            return self._call(name, opening, None)
        return Ident(name.start - rooted, name.end, 1, name.text, rooted)

    def _bracketed(self, opening: Lexeme) -> Node:
        if opening.text == "(":
            inside = self.expression()
            self._close(opening)
            return inside
        if question := self._takes("?"):
            raise self._no_optional(opening.start, question.end, opening.text)
        if opening.text == "[":
            items = self._list(opening, also="`,` or ", trailing=True)
            depth = self._depth(opening.start, *items)
            return ListOf(opening.start, self._tokens[self._at - 1].end, depth, tuple(items))
        entries: list[tuple[Node, Node]] = []
        while not self._at_closing(opening):
            key = self.expression()
            if not self._takes(":"):
                raise self._unexpected(self.peek(), "`:` and a value after the key")
            entries.append((key, self.expression()))
            if not self._takes(","):
                break
        closing = self._close(opening, "`,` or ")
        depth = self._depth(opening.start, *(node for entry in entries for node in entry))
        return MapOf(opening.start, closing.end, depth, tuple(entries))

    def _list(self, opening: Lexeme, also: str, *, trailing: bool = False) -> list[Node]:
        """Expressions between commas, up to and with the closing bracket."""
        items: list[Node] = []
        while not (self._at_closing(opening) and (trailing or not items)):
            items.append(self.expression())
            if not self._takes(","):
                break
        self._close(opening, also)
        return items

    def _at_closing(self, opening: Lexeme) -> bool:
        return self.peek().text == CLOSING[opening.text] and self.peek().kind is Token.MARK

    def _number(self, sign: Lexeme | None) -> Node:
        number = self._take()
        start = sign.start if sign else number.start
        value: int | float | Uint
        if number.kind is Token.INT:
            value = literals.read_int(number.text, number.start, negative=sign is not None)
        elif number.kind is Token.DOUBLE:
            value = literals.read_double(number.text, number.start) * (-1 if sign else 1)
        else:
            value = Uint(literals.read_uint(number.text, number.start))
        return Literal(start, number.end, 1, value)

    def _quoted(self, found: Lexeme) -> Node:
        prefix = found.text[: min(found.text.find(mark) for mark in "\"'" if mark in found.text)]
        inside = found.text[len(prefix) :]
        quotes = 3 if inside[:3] in ('"""', "'''") and len(inside) >= 6 else 1
        body, start = inside[quotes:-quotes], found.start + len(prefix) + quotes
        raw = "r" in prefix.lower()
        if found.kind is Token.BYTES:
            return Literal(found.start, found.end, 1, literals.read_bytes(body, start, raw=raw))
        return Literal(found.start, found.end, 1, literals.read_string(body, start, raw=raw))


def _qualified(node: Node) -> str:
    """The dotted name that a tree spells; empty when it spells none."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and (head := _qualified(node.operand)):
        return f"{head}.{node.field}"
    return ""
