"""ARFF files as written by OpenML and Weka."""

import pytest

from adakern.datasets import TableError, read_table
from adakern.tables.arff import arff, is_arff

HEAD = "@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y, z'}\n@data\n"


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("1,x", "1,x"),
        ("  1 ,  'y, z'", '1,"y, z"'),
        ('1,"y, z"', '1,"y, z"'),
        (r"1,'it\'s'", "1,it's"),
        (r"1,'two\nlines\tand\\n'", r"1,two lines and\n"),
        ("1,'a\u2028b\x85c'", "1,a\u2028b\x85c"),
        ("1,x\r", "1,x"),
        ("?,it's", ",it's"),
        ("1,'?'", "1,"),
        ("1,ü%", "1,ü%"),
    ],
)
def test_arff_cells(row, cells):
    data = f"% note\n\n{HEAD}% another\n{row}\n\n".encode()
    assert is_arff(data)
    assert arff(data, "f").to_csv(index=False) == f"a,b c\n{cells}\n"


def test_keywords_are_case_insensitive():
    data = HEAD.upper().replace("A NUMERIC", "A REAL").encode()
    assert arff(data + b"1,X\n", "f").to_csv(index=False) == "A,B C\n1,X\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD[:-6], "it is incomplete"),
        (HEAD + "1,x\n2", "row 2 has 1 cells, expected 2"),
        (HEAD + "{0 1, 1 x}\n", "sparse ARFF"),
    ],
)
def test_invalid_arff_raises(text, message):
    with pytest.raises(TableError, match=message):
        arff(text.encode(), "f")


def test_arff_is_read_as_a_table(tmp_path):
    rows = "1,x\n?,'y, z'\n3,x\n" * 5
    (tmp_path / "t.arff").write_text(HEAD + rows)
    table = read_table(tmp_path / "t.arff", "b c")
    assert table.kinds == {"a": "numeric"} and int(table.X["a"].isna().sum()) == 5
    assert sorted(table.y.unique()) == ["x", "y, z"]


def test_other_files_are_not_arff():
    assert not any(map(is_arff, (b"a,b\n1,2\n", b"PAR1@relation", b"", b"%")))
