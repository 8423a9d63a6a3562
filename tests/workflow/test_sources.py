"""Of the files of a data set, those that people placed are watched."""

from adakern_bench.config.sources import placed_by_hand
from adakern_bench.data import DatasetEntry


def test_only_what_people_placed_is_watched(tmp_path):
    entry = DatasetEntry(task="regression", files=[{"path": "mine/mine.csv"}])
    assert placed_by_hand(entry, tmp_path) == []
    file = tmp_path / "mine/mine.csv"
    file.parent.mkdir()
    file.write_text("1,2,3")
    assert placed_by_hand(entry, tmp_path) == [str(file)]
    file.with_name("mine.csv.record.json").write_text("{}")
    assert placed_by_hand(entry, tmp_path) == [], "it was fetched"
