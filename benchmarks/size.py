"""The budget of size: what the project may weigh, and what it weighs.

    python benchmarks/size.py

Code is what is neither blank, comment nor docstring. The product is all Python but
tests, documentation and benchmarks. Counts the files that git knows.
"""

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = {
    "product, lines of code": 14_500,
    "product, lines": 25_000,
    "everything, lines of code": 27_000,
    "files in conf": 185,
    "docs/results, MB": 12,
}
SILENT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def code_lines(text):
    """Number of lines of code of a Python source."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines -= set(range(docstring.lineno, docstring.end_lineno + 1))
    return len(lines)


def measured(root=ROOT):
    """The figures of the budget, by their names."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    files = [name for name in listed if (root / name).exists()]
    text = {n: (root / n).read_text(encoding="utf-8") for n in files if n[-3:] == ".py"}
    product = [n for n in text if not n.startswith(("tests/", "docs/", "benchmarks/"))]
    code = {name: code_lines(source) for name, source in text.items()}
    results = [root / n for n in files if n.startswith("docs/results/")]
    figures = (
        sum(code[name] for name in product),
        sum(text[name].count("\n") for name in product),
        sum(code.values()),
        sum(name.startswith("conf/") for name in files),
        round(sum(path.stat().st_size for path in results) / 1e6, 1),
    )
    return dict(zip(BUDGET, figures, strict=True))


def main():
    """Print the budget; the exit status says whether it is kept."""
    figures = measured()
    for name, figure in figures.items():
        print(f"{name:26} {figure:>8} of {BUDGET[name]}")
    return any(figures[name] > most for name, most in BUDGET.items())


if __name__ == "__main__":
    sys.exit(main())
