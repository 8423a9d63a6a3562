"""Summary of the type and treatment of each column of a table."""

from dataclasses import dataclass

#: Maximum number of columns printed; the number of others is given.
MOST_LINES = 40

#: Maximum number of characters printed of a cell; only the use is printed whole.
MOST_LETTERS = 60


@dataclass
class Account:
    """Type and treatment of one column.

    Attributes
    ----------
    column : str
    kind : {"numeric", "categorical", "date", "text"}
    form : str
        Format of its numbers or dates; empty if the values are typed.
    missing : int
        Number of missing values.
    levels : int or None
        Number of categories; None for numbers, dates and texts.
    use : str
        "feature", "target", or the reason why it is neither.
    option : str
        Option that changes this.
    """

    column: str
    kind: str
    form: str
    missing: int
    levels: int | None
    use: str
    option: str = ""


class AccountTable(list):
    """A list of :class:`Account` that prints as a table."""

    def __repr__(self):
        # The longest column is last, since it is not cut.
        heads = ("column", "kind", "form", "missing", "levels", "option", "use")
        rows = [heads]
        for account in self[:MOST_LINES]:
            cells = vars(account) | {"levels": account.levels or ""}
            # A line break in a name would begin a line of its own.
            *short, use = (" ".join(str(cells[head]).split()) for head in heads)
            rows.append((*map(_shortened, short), use))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        right = {heads.index(head) for head in ("missing", "levels")}
        lines = [
            "  ".join(
                cell.rjust(width) if j in right else cell.ljust(width)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        if len(self) > MOST_LINES:
            lines.append(f"and {len(self) - MOST_LINES} more")
        return "\n".join(lines)


def _shortened(text):
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 3]}..."
