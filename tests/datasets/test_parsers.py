"""Every format, every packing, on small files."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from adakern.model_file import as_columns
from adakern_bench.config.entry import DatasetEntry, DatasetError
from adakern_bench.data.assemble import table_from_frames
from adakern_bench.data.fetch import load_table
from adakern_bench.data.parsers import parse_table

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(5)
X = rng.normal(size=(30, 3)).round(3)
X[4, 1] = 0.0  # a cell that a sparse format leaves out
Y = rng.permutation(np.repeat([-1, 1], 15))


def as_csv(separator=",", header=""):
    rows = pd.DataFrame(X).assign(y=Y).to_csv(sep=separator, header=False, index=False)
    return (header + rows).encode()


def as_arff():
    head = "% a comment\n@relation toy\n\n"
    head += "".join(f"@attribute f{i} numeric\n" for i in range(3))
    return (head + "@attribute class {-1,1}\n\n@data\n").encode() + as_csv()


def as_libsvm():
    out = io.BytesIO()
    dump_svmlight_file(X, Y, out, zero_based=False)
    return out.getvalue()


BLANKS = {"format": "whitespace"}
FORMATS = {
    "csv": (as_csv(), {}),
    "semicolon": (as_csv(";", "a;b;c;y\n"), {"format": "csv", "separator": ";"}),
    "named": (as_csv(header='"a","b","c","y"\n'), {"format": "csv", "target": "y"}),
    "whitespace": (as_csv(" ", "# made here\n"), BLANKS),
    "tabs": (as_csv("\t"), BLANKS),
    "blanks": (as_csv(" ").replace(b" ", b"   ").replace(b"\n", b"  \n\n"), BLANKS),
    "windows": (as_csv().replace(b"\n", b"\r\n"), {"format": "csv"}),
    "arff": (as_arff(), {}),
    "libsvm": (as_libsvm(), {"target": "label"}),
}


def zipped(content, *more, level=None):
    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", zipfile.ZIP_DEFLATED, compresslevel=level
    ) as archive:
        for name, data in (("inner/toy.csv", content), *more):
            archive.writestr(name, data)
    return out.getvalue()


def tarred(content, mode="w:gz", **settings):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, **settings) as archive:
        for name, data in (("x/other.csv", b"1,2\n"), ("x/toy.csv", content)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


SEVERAL = zipped(b"1,2\n", ("other.csv", as_csv()))
PACKINGS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
PACKINGS |= {".zip": zipped, ".tar.gz": tarred}


def load(tmp_path, content, name="toy.csv", member=None, **facts):
    (tmp_path / name).write_bytes(content)
    facts = {
        "task": "classification",
        "files": [{"path": name, "member": member}],
    } | facts
    return load_table(
        "toy", DatasetEntry(**facts), cache_dir=tmp_path / "none", mirror=tmp_path
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_give_same_table(tmp_path, kind):
    content, facts = FORMATS[kind]
    ending = kind if kind in ("csv", "arff", "libsvm") else "dat"
    table = load(tmp_path, content, f"toy.{ending}", **facts)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.X.dtype == np.float64 and table.X.flags.c_contiguous
    assert len(table.feature_names) == 3


@pytest.mark.parametrize("ending", PACKINGS)
@pytest.mark.parametrize("named", [True, False])
def test_compression_with_and_without_extension(tmp_path, ending, named):
    name = "toy.csv" + ending * named
    member = "toy.csv" if ending == ".tar.gz" else None
    table = load(tmp_path, PACKINGS[ending](as_csv()), name, member, format="csv")
    np.testing.assert_array_equal(table.X, X)


def test_archive_with_several_files(tmp_path):
    table = load(tmp_path, SEVERAL, "a.zip", "other.csv", format="csv")
    np.testing.assert_array_equal(table.X, X)


def test_libsvm_files_of_different_width(tmp_path):
    (tmp_path / "train.svm").write_bytes(b"+1 1:2 3:4\n-1 2:1\n")
    files = [{"path": "train.svm"}, {"path": "test.svm", "test": True}]
    table = load(tmp_path, b"-1 1:5\n", "test.svm", d=4, files=files)
    np.testing.assert_array_equal(table.X, [[2, 0, 4, 0], [0, 1, 0, 0], [5, 0, 0, 0]])
    assert table.test_rows.tolist() == [2]


def test_large_class_labels_stay_distinct(tmp_path):
    neighbours = [2**53, 2**53 + 1, 2**63, 2**63 + 1]
    content = "".join(f"{k},{label}\n" for k, label in enumerate(neighbours))
    assert sorted(load(tmp_path, content.encode()).y) == sorted(map(str, neighbours))
    content = f"1,{2**53}\n2,{2**53 + 1}\n".encode()
    assert load(tmp_path, content).y.tolist() == [2**53, 2**53 + 1]


@pytest.mark.slow
def test_decompression_bomb_error(tmp_path):
    blank = b"1,2\n" * 40_000_000  # 160 MB of nothing, a few hundred kB packed
    bombs = {
        "toy.csv.gz": gzip.compress(blank, 1),
        "toy.csv.xz": lzma.compress(blank, preset=0),
        "toy.csv.zip": zipped(blank, level=1),
        "toy.csv.tar.xz": tarred(blank, "w:xz", preset=0),
        "toy.csv.gz.gz": gzip.compress(gzip.compress(blank[:80_000_000], 1)),
    }
    for name, content in bombs.items():
        assert len(content) < 1e6, name
        with pytest.raises(DatasetError, match="unpacks to more than"):
            member = "toy.csv" if "tar" in name else None
            load(tmp_path, content, name, member, format="csv")


MISSING = {
    "toy.csv": (b"1,2,a\n?,4,b\n5,,a\n7,8,b\n", [[1, 2], [7, 8]]),
    "toy.svm": (b"+1 1:nan 2:4\n-1 1:1\n", [[1, 0]]),
    "toy.arff": (as_arff().replace(str(X[0, 0]).encode(), b"?", 1), X[1:].tolist()),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_value_rules(tmp_path, name):
    content, complete = MISSING[name]
    with pytest.raises(DatasetError, match=r"contains NaN.*drop-rows leaves out"):
        load(tmp_path, content, name)
    assert load(tmp_path, content, name, missing="drop-rows").X.tolist() == complete


def test_columns_by_name_and_position(tmp_path):
    content = b"id,sex,w,who,y\n9,M,1.5,bo,3\n8,F,2.5,al,4\n7,M,0.5,bo,5\n"
    labelled = load(tmp_path, as_csv(), labels={-1: "down", 1: "up"})
    np.testing.assert_array_equal(labelled.y, np.where(Y > 0, "up", "down"))
    roles = {"target": "y", "drop": ["id", 3], "groups": "who"}
    table = load(
        tmp_path, content, task="regression", codes={"sex": {"M": 0, "F": 1}}, **roles
    )
    np.testing.assert_array_equal(table.X, [[0, 1.5], [1, 2.5], [0, 0.5]])
    assert table.y.dtype == np.float64 and table.y.tolist() == [3, 4, 5]
    assert table.groups.tolist() == [1, 0, 1]
    assert table.feature_names == ["sex", "w"]


def test_blank_cell_derived_from_row(tmp_path):
    content = b"total,above,below,y\n10,,3,1\n9,4,5,2\n"
    fill = {"above": {"total": 1, "below": -1}}
    assert load(tmp_path, content, fill=fill).X[:, 1].tolist() == [7, 4]


CATEGORIES = r"'x' Keep categories with format: table, replace them by numbers"
#: What is said, the file, and what its entry states.
REFUSED = {
    "no column 'price'": (b"1,2\n", {"target": "price"}),
    "no column 7 among 2": (b"1,2\n", {"target": 7}),
    "no column 'beyond'": (b"1,2\n", {"fill": {0: {"beyond": 1}}}),
    CATEGORIES: (b"1,x,2\n3,z,1\n", {}),
    r"codes: column 0 also contains \['X'\]": (b"M,1\nX,2\n", {"codes": {0: {"M": 1}}}),
    "target is missing in 1 of 2 rows": (b"1,a\n2,\n", {}),
    "target has the same value in all 2 rows, 'a'": (b"1,a\n2,a\n", {}),
    "no row has the class 7; the classes are 0, 1": (
        b"1,0\n2,1\n",
        {"labels": {7: "x"}},
    ),
    "cannot be read as csv: No columns": (b"", {}),
    "cannot be read as csv: Error": (b"1,2,3\n4,5\n6,7,8,9,10\n", {}),
    "whether it is a web page": (b"<!DOCTYPE html>\n<p>no</p>\n", {"format": "libsvm"}),
    "contains infinity": (b"1,1\ninf,2\n", {}),
    "replace them by numbers with codes": (b"1,y\n2,n\n", {"task": "regression"}),
    "no features": (b"1\n2\n", {}),
    "check separator and drop": (b"1;2\n3;4\n", {}),
    "class label 1e.300 is too large": (b"1,1e300\n2,3\n", {}),
    "class label 9.*15 is too large": (b"1,9007199254740993.0\n2,3\n", {}),
    "class label -inf is too large": (b"1,-inf\n2,3\n", {}),
    "largest index of a feature": (
        b"+1 1:2 2147483646:4\n" * 200_000,
        {"name": "toy.svm"},
    ),
    "set format to one of csv, table": (as_csv(), {"name": "toy.dat"}),
    r"inner/toy\.csv, other\.csv; unpack it, or set member": (
        SEVERAL,
        {"name": "a.zip", "format": "csv"},
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_unreadable_content_error(tmp_path, message):
    content, facts = REFUSED[message]
    with pytest.raises(DatasetError, match=message):
        load(tmp_path, content, **facts)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zip"])
def test_truncated_archive_error(tmp_path, ending):
    content = PACKINGS[ending](as_csv())
    with pytest.raises(DatasetError, match=r"toy\.csv cannot be unpacked"):
        load(tmp_path, content[: len(content) // 2])


def frames_of(entry, name, *files):
    """Return frames of files with a column of these cells and a numeric target."""
    frames = []
    for cells in files:
        lines = [f"{cell},{k * 1.5}" for k, cell in enumerate(cells)]
        content = "\n".join([f"{name},y", *lines]).encode()
        frames.append(parse_table(content, entry, "toy.csv"))
    return frames


def test_merge_spellings_across_files():
    """The name is the spelling that is most frequent in all of them."""
    cells = [["m", "M", "M", "f", "NA"], ["F", "F", "m", "m", "m", "x"]]
    files = [{"path": "a.csv"}, {"path": "b.csv", "test": True}]
    found = {"target": "y", "format": "table", "merge": ["sex"], "files": files}
    entry = DatasetEntry(task="regression", **found)
    table = table_from_frames("toy", entry, frames_of(entry, "sex", *cells))
    assert table.categories == {"sex": ["F", "M", "x"]}
    codes = [1, 1, 1, 0, np.nan, 0, 0, 1, 1, 1, 2]
    np.testing.assert_array_equal(table.X[:, 0], codes)
    new = pd.DataFrame({"sex": ["f", "M ", "x", "m", "X"]})
    again = as_columns(new, table.kinds, table.forms)["sex"]
    assert again.tolist() == ["F", "M", "x", "M", "x"]


@pytest.mark.parametrize("place", [0, 1])
def test_censoring_limits_in_one_of_several_files(place):
    """A cell of the other file is none."""
    cells = [["1.5", "3.5"] * 5, ["1.5", "3.5"] * 5]
    cells[place] = ["<0.5", "1.5", ">9"] * 5
    files = [{"path": "a.csv"}, {"path": "b.csv", "test": True}]
    entry = DatasetEntry(task="regression", target="y", format="table", files=files)
    table = table_from_frames("toy", entry, frames_of(entry, "crp", *cells))
    assert table.feature_names == ["crp", "crp: limit"]
    sides = [[0] * 10, [0] * 10]
    sides[place] = [-1, 0, 1] * 5
    assert table.X[:, 1].tolist() == [*sides[0], *sides[1]]
    assert table.forms["crp: limit"] == "limits of crp"
