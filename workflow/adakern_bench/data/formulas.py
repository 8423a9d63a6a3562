"""Formulas of a configuration: numbers, column names and arithmetic, nothing else."""

import ast
import operator
from collections.abc import Callable

__all__ = ["evaluate"]

OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def evaluate(formula, columns):
    """The value of a formula such as ``sqft_living - sqft_basement``.

    A configuration may come from somebody else, so it is data and never code: there
    are no calls, no attributes and no names but those of the columns.

    >>> from adakern_bench.data.formulas import evaluate
    >>> evaluate("(total - below) / 2", {"total": 10.0, "below": 4.0})
    3.0
    """
    try:
        tree = ast.parse(formula, mode="eval")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no formula ({error})") from None
    return _value(tree.body, columns)


def _value(node, columns):
    match node:
        case ast.Constant(value=int() | float() as number) if number is not True:
            return float(number)
        case ast.Name(id=name) if name in columns:
            return columns[name]
        case ast.Name(id=name):
            raise ValueError(f"there is no column {name!r}")
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            left, right = _value(node.left, columns), _value(node.right, columns)
            return OPERATORS[type(op)](left, right)
        case ast.UnaryOp(op=op) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(node.operand, columns))
    raise ValueError(
        f"{ast.unparse(node)!r} is not allowed: numbers, column names, + - * / ** and "
        "parentheses are"
    )
