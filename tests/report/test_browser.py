"""Reports in a real browser, at the width of a desktop and of a phone."""

import pytest

from deepbroad import AnDEClassifier
from deepbroad.report import write_report
from tests.report.browser import Browser, find_browser
from tests.report.reports import hostile_names, three_classes, two_classes

pytestmark = pytest.mark.skipif(find_browser() is None, reason="there is no Chromium here")
WIDTHS = {"desktop": {"width": 1200}, "phone": {"width": 390, "height": 844, "mobile": True}}


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def calm(browser):
    """The browser; nothing may be complained of."""
    browser.complaints.clear()
    yield browser
    assert browser.complaints == []


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {
        make.__name__: write_report(*make(), folder / f"{make.__name__}.html")
        for make in (two_classes, three_classes, hostile_names)
    }


def texts(browser, selector):
    return browser.run(
        f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)"
    )  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["two_classes", "three_classes", "hostile_names"])
def test_pages_fit_their_window_and_draw(calm, pages, name, width):
    calm.open(pages[name], **WIDTHS[width])
    assert calm.run("document.documentElement.scrollWidth <= window.innerWidth")
    drawn = ["reliability-chart", "importance-chart", "effect-chart", "row-chart", "loss-chart"]
    drawn += ["roc-chart", "pr-chart"] if name == "two_classes" else []
    for chart in drawn:
        wide = calm.run(f"document.querySelector('#{chart} svg').getBoundingClientRect().width")
        assert 200 < wide <= WIDTHS[width]["width"]
    hidden = calm.run("document.querySelector('section#curves').hidden")
    assert hidden == (name != "two_classes")
    assert calm.run("document.querySelectorAll('img').length") == 0
    assert "NaN" not in calm.run("document.querySelector('main').innerHTML")


@pytest.mark.parametrize("width", WIDTHS)
def test_class_and_attributes_of_heat_maps_can_be_chosen(calm, pages, width):
    calm.open(pages["three_classes"], **WIDTHS[width])
    calm.choose("#effect-first", "colour")
    calm.choose("#effect-second", "shape")
    first = texts(calm, "#effect-chart .cell title")
    assert len(first) == 3 * len(texts(calm, "#effect-table thead th")[1:])
    calm.choose("#effect-class", "2")
    second = texts(calm, "#effect-chart .cell title")
    assert first != second
    calm.choose("#effect-first", "shape")
    calm.choose("#effect-second", "colour")  # the same, turned round
    turned = {tuple(sorted(t.rsplit(": ", 1)[0].split(", "))) for t in
              texts(calm, "#effect-chart .cell title")}  # fmt: skip
    assert turned == {tuple(sorted(t.rsplit(": ", 1)[0].split(", "))) for t in second}
    calm.choose("#effect-second", "")
    assert texts(calm, "#effect-chart .cell title") == []
    values = texts(calm, "#effect-table tbody th")
    assert len(values) == len(texts(calm, "#effect-chart rect"))
    assert "shape" in calm.run("document.querySelector('#effect-chart svg').ariaLabel")


def test_two_classes_have_opposite_effects(calm, pages):
    calm.open(pages["two_classes"])
    calm.choose("#effect-first", "length")
    calm.choose("#effect-second", "")

    def column(label):
        calm.choose("#effect-class", label)
        found = texts(calm, "#effect-table tbody tr td:nth-child(2)")
        return [float(text.replace("−", "-")) for text in found]

    assert column("0") == [-score for score in column("1")]
    assert "missing" in texts(calm, "#effect-chart text")


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_explored_by_mouse_and_keyboard(calm, pages, width):
    calm.open(pages["three_classes"], **WIDTHS[width])
    numbers = texts(calm, "#row-number option")
    said = [texts(calm, "#row-said")[0]]
    assert calm.run("document.querySelector('#row-previous').disabled")
    calm.click("#row-next")
    said += texts(calm, "#row-said")
    calm.press("#row-next", "Enter")
    said += texts(calm, "#row-said")
    calm.press("#row-number", "ArrowDown")
    said += texts(calm, "#row-said")
    assert [text.split()[1] for text in said] == [text.split(":")[0] for text in numbers[:4]]
    calm.click("#row-previous")
    assert texts(calm, "#row-said") == [said[2]]
    calm.choose("#row-which", "wrong")
    wrong = texts(calm, "#row-number option")
    assert wrong
    assert all("taken for" in text for text in wrong)
    calm.choose("#row-order", "worst")
    assert sorted(texts(calm, "#row-number option")) == sorted(wrong)
    losses = calm.run("listed.map((row) => row.loss)")
    assert losses == sorted(losses, reverse=True)
    assert calm.run("document.querySelector('#row-number').selectedIndex") == 0
    bars = len(texts(calm, "#row-chart .step"))
    drawn = set()
    for label in ("0", "1", "2"):
        calm.choose("#row-class", label)
        assert len(texts(calm, "#row-chart .step")) == bars
        drawn.add(tuple(texts(calm, "#row-chart text")))
    assert len(drawn) == 3


def test_reliability_can_be_asked_of_each_class(calm, pages):
    calm.open(pages["three_classes"])
    seen = set()
    for value in calm.run(
        "[...document.querySelector('#reliability-class').options].map(o => o.value)"
    ):
        calm.choose("#reliability-class", value)
        seen.add(calm.run("document.querySelector('#reliability-chart svg').ariaLabel"))
    assert len(seen) == 4


def test_every_control_and_picture_has_a_name(calm, pages):
    calm.open(pages["two_classes"])
    unnamed = calm.run(
        "[...document.querySelectorAll('select, button, svg')].filter((e) =>"
        "!(e.labels && e.labels.length) && !e.textContent.trim() && !e.ariaLabel).length"
    )
    assert unnamed == 0
    assert calm.run("[...document.querySelectorAll('select')].every((e) => e.labels.length === 1)")


def test_a_report_without_effects_says_why(calm, tmp_path):
    _, X, y = three_classes()
    calm.open(write_report(AnDEClassifier(n=1).fit(X, y), X, y, tmp_path / "r.html"))
    assert "AnDEClassifier" in texts(calm, "#unexplained")[0]
    assert calm.run("document.querySelector('section#effects').offsetHeight") == 0


def test_pages_print(calm, pages):
    calm.open(pages["two_classes"])
    assert calm.print().startswith(b"%PDF")


def test_pages_draw_anew_when_the_window_changes(calm, pages):
    calm.open(pages["two_classes"], width=1200)
    wide = calm.run("document.querySelector('#row-chart svg').viewBox.baseVal.width")
    calm.send("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1,
              mobile=False)  # fmt: skip
    calm.run("window.dispatchEvent(new Event('resize'))")
    assert calm.run("document.querySelector('#row-chart svg').viewBox.baseVal.width") < wide
