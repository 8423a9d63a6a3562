"""The report in a real browser."""

import pytest

from adakern_bench.report.compare import compare
from adakern_bench.report.page import report
from record_factory import make_record, write_records

METHODS = [f"method-{letter}" for letter in "abcdef"]
DATASETS = [f"data-set-{k}" for k in range(12)]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    out = tmp_path_factory.mktemp("wide")
    records = [make_record(d, m, k) for d in DATASETS for m in METHODS for k in (0, 1)]
    compare(write_records(out, records), out)
    report(out, {"name": "wide", "protocol": {}})
    return out / "report.html"


@pytest.fixture
def tab(browser, page_file):
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    tab.errors = []
    tab.on("pageerror", lambda error: tab.errors.append(str(error)))
    tab.on("request", lambda request: tab.errors.append(request.url))
    tab.goto(page_file.as_uri())
    yield tab
    assert tab.errors == [page_file.as_uri()]  # nothing else was requested
    tab.close()


@pytest.mark.parametrize("width", [1400, 800])
def test_page_fits_and_method_names_stay_visible(tab, width):
    tab.set_viewport_size({"width": width, "height": 900})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    table = tab.locator("#classification table").first
    name = table.locator("tbody th").first
    before = name.bounding_box()["x"]
    scrolled = table.evaluate(
        "t => { t.parentElement.scrollLeft = 1e4; return t.parentElement.scrollLeft }"
    )
    assert scrolled > 0 or width == 1400
    assert name.bounding_box()["x"] == pytest.approx(before, abs=1)
    assert before >= 0


def test_click_sorts_and_search_filters(tab):
    table = tab.locator("#classification table").first
    head = table.locator("thead th").nth(4)
    for order in ("ascending", "descending"):
        head.click(position={"x": 5, "y": 3})
        shown = [float(t.split()[0].rstrip("●")) for t in column_texts(table, 4)]
        assert shown == sorted(shown, reverse=order == "descending")
        assert head.get_attribute("aria-sort") == order
    tab.locator("#classification input[type=search]").first.fill("method-c")
    assert [n for n in column_texts(table, 0) if n] == ["method-c"]


def test_columns_are_filtered_by_data_set_name(tab):
    table = tab.locator("#classification table").first
    boxes = tab.locator("#classification input[aria-label*=columns]")
    boxes.first.fill("set-1")
    heads = [h.inner_text() for h in table.locator("thead th:visible").all()]
    assert heads == ["Method", "data-set-1", "data-set-10", "data-set-11"]
    assert table.locator("tbody tr").first.locator("td:visible").count() == 3
    boxes.first.fill("")
    assert table.locator("thead th:visible").count() == 4 + len(DATASETS)


def column_texts(table, column):
    rows = table.locator("tbody tr:visible")
    return [
        row.locator("th, td").nth(column).inner_text().strip() for row in rows.all()
    ]


def test_link_opens_collapsed_panel(tab):
    panel = tab.locator("#method-method-d")
    assert not panel.evaluate("p => p.open")
    tab.locator("#classification tbody a", has_text="method-d").first.click()
    tab.wait_for_function("document.getElementById('method-method-d').open")


def test_print_and_dark_styles(tab):
    tab.emulate_media(media="print")
    assert not tab.locator("nav").is_visible()
    tab.emulate_media(media="screen", color_scheme="dark")
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, background.strip("rgb()").split(","))) < 64
