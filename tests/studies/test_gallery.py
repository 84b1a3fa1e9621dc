"""Test the gallery: its pages and numbers, texts as text, nothing from elsewhere, and no folder of anyone else."""

import json
import shutil
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from explorer.drawing.reports import standalone
from explorer.errors import BadChoice, NotWritable
from explorer.measuring.comparing import headline
from explorer.studies.gallery import INDEX, MARK, GalleryOptions, write
from explorer.training.record import runs
from explorer.training.record import status as statuses
from tests.html_tables import tables

NASTY = "<script>alert('1')</script> & \"more\""
REPORT = "my report.html"


class Outside(HTMLParser):
    """What a page refers to, and its style sheets."""

    def __init__(self):
        super().__init__()
        self.links, self.resources, self.styles, self.tags = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        known = dict(attributes)
        self.links += [known["href"]] if tag == "a" else []
        self.resources += [known[name] for name in ("src", "srcset", "data", "xlink:href") if name in known]
        self.resources += [known["href"]] if tag != "a" and "href" in known else []
        self.styles += [known["style"]] if known.get("style") else []

    def handle_data(self, text):
        self.styles += [text] if self.tags and self.tags[-1] == "style" else []


def outside(page: str) -> Outside:
    found = Outside()
    found.feed(page)
    return found


@pytest.fixture(scope="module")
def nasty_run(tmp_path_factory):
    """The example as a run of the user, in a row of a plan whose name is markup."""
    folder = tmp_path_factory.mktemp("runs") / "mine"
    example = runs.find("example")
    shutil.copytree(example.folder, folder, ignore=shutil.ignore_patterns("model", "probe"))
    status = example.status()
    statuses.write(folder, replace(status, facts=replace(status.facts, row=NASTY)))
    return folder


@pytest.fixture(scope="module")
def gallery(nasty_run, tmp_path_factory):
    """The pages of a gallery by name."""
    folder = tmp_path_factory.mktemp("site")
    report = folder / REPORT
    report.write_bytes(standalone.page(NASTY, [standalone.paragraph(((f"A sentence. {NASTY}", False),))]))
    chosen = GalleryOptions(title=NASTY, run=("example", str(nasty_run)), report=(str(report),))
    first = write(folder / "gallery", chosen)
    assert [path.name for path in folder.iterdir() if path.name != REPORT] == ["gallery"]
    return {path.name: path.read_text(encoding="utf-8") for path in first.parent.glob("*.html")}


def test_the_first_page_has_the_verdict_and_a_drawing_of_each_run_and_leads_to_all_pages(gallery):
    page = gallery[INDEX]
    assert outside(page).links == ["run-example.html", "run-mine.html", "report-1.html"]
    assert set(outside(page).links) == gallery.keys() - {INDEX}
    assert page.count("<polyline") == 2
    text = unescape(page.replace("<strong>", "").replace("</strong>", ""))
    assert text.count(headline.line(runs.find("example").status().learned).text) == 2
    assert f"<p>A sentence. {NASTY}</p>" in text


def test_the_page_of_a_run_has_its_scores_its_settings_and_the_commands_that_repeat_it(gallery):
    run, page = runs.find("example"), gallery["run-example.html"]
    scores, *_, settings = tables(page)
    assert [row[""] for row in scores] == ["test", "dev", "elsewhere"]
    for row, found in zip(scores, run.status().verdict.by_use.values(), strict=False):
        assert (row["base, model default"], row["tuned model"]) == (found.before, found.after)
        assert row["difference (95 % CI)"] == found.gap
    known = {row[""]: row["value"] for row in settings}
    assert (known["steps"], known["batch_size"], len(known)) == ("70", "16", len(run.recipe().every_setting()))
    assert run.recipe().command() in unescape(page)
    assert "python -m explorer compare all-MiniLM-L6-v2 run:example --on 'Sample pairs, test half'" in unescape(page)


def test_the_drawing_rises_where_the_score_does():
    drawn = standalone.sparkline([[(0, 10.0), (1, 30.0), (2, 20.0)]], 20.0, "scores")
    points = [tuple(map(float, one.split(","))) for one in drawn.split('points="')[1].split('"')[0].split()]
    assert points == [(2, 78), (150, 2), (298, 40)]
    assert 'y1="40.0" y2="40.0"' in drawn
    assert standalone.sparkline([[]], 20.0, "scores") == ""


def test_every_text_is_text_and_nothing_is_loaded_from_elsewhere(gallery):
    for name, page in gallery.items():
        found = outside(page)
        assert "<script>alert" not in page
        assert set(found.links) <= gallery.keys()
        assert (found.resources, [one for one in found.styles if "url(" in one or "@import" in one]) == ([], []), name
        assert standalone.ALONE in page
    assert len(gallery[INDEX]) < 20_000, "no scripts"


def test_a_gallery_takes_the_place_of_an_older_one_and_of_nothing_else(tmp_path):
    folder, chosen = tmp_path / "gallery", GalleryOptions(run=("example",))
    write(folder, chosen)
    write(folder, GalleryOptions(run=("layer-attention-example",)))
    names = {INDEX, MARK, "run-layer-attention-example.html"}
    assert {path.name for path in folder.iterdir()} == names
    (folder / "notes.txt").touch()
    for place in (folder, tmp_path):
        with pytest.raises(NotWritable, match="exists already and is no gallery, or holds other files"):
            write(place, chosen)
    assert {path.name for path in folder.iterdir()} == {*names, "notes.txt"}
    assert [path.name for path in tmp_path.iterdir()] == ["gallery"]


def test_what_a_killed_process_left_is_removed(tmp_path):
    write(tmp_path / "gallery", GalleryOptions(run=("example",)))
    (tmp_path / "gallery").rename(tmp_path / "gallery.old")
    (tmp_path / "gallery.new").mkdir()
    (tmp_path / "gallery.new" / MARK).write_text(json.dumps({"files": []}))
    write(tmp_path / "gallery", GalleryOptions(run=("example",)))
    assert [path.name for path in tmp_path.iterdir()] == ["gallery"]


def test_what_cannot_be_shown_is_refused_before_anything_is_written(tmp_path, monkeypatch, nasty_run):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    (tmp_path / "page.html").write_text("<title>x</title><img src=https://example.org/x.png>")
    (tmp_path / "broken.html").write_bytes(b"<![no section[" + bytes(range(256)))
    waiting = runs.new(runs.find("example").recipe(), "waiting")
    twin = shutil.copytree(nasty_run, tmp_path / "mine")
    for chosen, error in (
        (GalleryOptions(), "No run is finished yet. Train one, or name an example"),
        (GalleryOptions(run=("waiting",)), f"'{waiting.name}' is {waiting.status().state}, not finished. Finish it"),
        (GalleryOptions(run=(str(nasty_run), str(twin))), "Two runs are called 'mine'. Rename one of them"),
        (GalleryOptions(run=("example",), report=(str(tmp_path / "page.html"),)), "page.html is no report of Strata"),
        (
            GalleryOptions(run=("example",), report=(str(tmp_path / "broken.html"),)),
            "broken.html is no report of Strata",
        ),
        (GalleryOptions(run=("example",), report=(str(tmp_path / "none.html"),)), "none.html cannot be read"),
    ):
        with pytest.raises(BadChoice, match=error):
            write(tmp_path / "gallery", chosen)
    assert not (tmp_path / "gallery").exists()
