"""The 77 data sets of the paper by name; sizes as printed come from `published`.

Where the table at hand is not of the printed size, `shape` says what it is.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deepbroad.datasets import poker_hand
from deepbroad.experiments.dataset import Dataset, Shape
from deepbroad.experiments.published import big_datasets, dataset_sizes
from deepbroad.experiments.reconstruction import reconstruct_covertype

_NOT_AT_HAND = "It is not among the data sets that could be obtained."
_UCI_POKER_HANDS = 1_025_010


def load(name: str, folder: Path | str | None = None) -> tuple[pa.Table, NDArray[Any]]:
    """Return attributes and classes of a data set by name, see `Dataset.load`."""
    return DATASETS[name].load(folder)


def find(names: Sequence[str]) -> list[Dataset]:
    """Return the data sets of these names; "little", "big" and "all" name many.

    Those that are reconstructed from another's file belong to no group and are named one by one.

    >>> [dataset.name for dataset in find(["iris", "adult"])]
    ['adult', 'iris']
    >>> len(find(["all"]))
    77
    """
    groups = {"all": {True, False}, "big": {True}, "little": {False}}
    known = DATASETS | RECONSTRUCTED
    unknown = [name for name in names if name not in groups and name not in known]
    if unknown:
        raise ValueError(
            f"There is no data set {', '.join(unknown)}; there are little, big, all, and "
            f"{', '.join(sorted(known))}."
        )
    sizes = {size for name in names for size in groups.get(name, ())}
    grouped = [one.name for one in DATASETS.values() if one.is_big in sizes]
    return [one for one in known.values() if one.name in names or one.name in grouped]


def draw_hands(rows: int = _UCI_POKER_HANDS) -> tuple[pa.Table, NDArray[np.int64]]:
    """Draw as many poker hands as UCI's two files have, or `rows`."""
    return poker_hand(rows, seed=0, return_X_y=True)


def sample_hands(rows: int) -> Dataset:
    """Return poker-hand with few rows, for a quick look."""
    full = DATASETS["poker-hand"]
    classes = np.unique(draw_hands(rows)[1]).size
    shape = Shape(rows, full.attributes, classes)
    return _describe(full.name, full.paper_name, shape=shape, make=partial(draw_hands, rows))


def read_bundled(name: str) -> tuple[pa.Table, NDArray[Any]]:
    """Return a data set that scikit-learn brings with it."""
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    table = pa.table(dict(zip(found.feature_names, found.data.T, strict=True)))
    return table, found.target_names[found.target]


def _describe(name: str, paper_name: str, checksum: str = "", **rest: Any) -> Dataset:
    """Make a data set with the sizes that the paper prints."""
    size = dataset_sizes()[paper_name]
    shape = rest.pop("shape", Shape(size.rows, size.attributes - 1, size.classes))
    return Dataset(
        name=name,
        paper_name=paper_name,
        **size._asdict(),
        is_big=paper_name in big_datasets(),
        shape=None if "missing" in rest else shape,
        checksum=checksum,
        **rest,
    )


# Of two parts of KDD Cup 99 that are at hand, the training file is the one like the paper's.
_ALL = [
    _describe("kddcup99-10pct", "Kddcup", "7349cab254247ca8", shape=Shape(494021, 41, 23)),
    _describe("poker-hand", "Poker-hand", shape=Shape(_UCI_POKER_HANDS, 10, 10), make=draw_hands),
    _describe("mitfaceset-c", "MITFaceSetC", missing=_NOT_AT_HAND),
    _describe("covertype", "Covertype", "654946ed20035ffb", openml_id=1596),
    _describe("mitfaceset-b", "MITFaceSetB", missing=_NOT_AT_HAND),
    _describe("mitfaceset-a", "MITFaceSetA", missing=_NOT_AT_HAND),
    _describe(
        "census-income-kdd",
        "Census-Income(KDD)",
        "2be29a5015de235b",
        shape=Shape(299285, 40, 2),
        drop=("instance_weight",),
    ),
    _describe("localization", "Localization", missing=_NOT_AT_HAND),
    _describe("connect-4", "Connect-4Opening", "0fdd95bf4a88edee", openml_id=40668),
    _describe("shuttle", "Statlog(Shuttle)", "71fea0da2034200b", openml_id=40685),
    _describe("adult", "Adult", "1964b992185ee4fa", openml_id=1590),
    _describe("letter", "LetterRecognition", "f0482f65b78fed5b", openml_id=6),
    _describe("magic", "MAGICGammaTelescope", "4780c4ce928b0460"),
    _describe("nursery", "Nursery", "d223e0eedc6bf474", openml_id=26),
    _describe("sign", "Sign", "c080d65e219fd36c"),
    _describe("pendigits", "PenDigits", "aa52ed87a2373c44", openml_id=32),
    _describe("thyroid", "Thyroid", "8cdc566b5b4eb36b"),
    _describe("pioneer", "Pioneer", "4518ff3eecca81a0"),
    _describe("mushroom", "Mushrooms", "e6ed336dae0f18f7", openml_id=24),
    _describe("musk2", "Musk2", "72e1fc892ebede01"),
    _describe("satellite", "Satellite", "c70c5103814cab9e"),
    _describe(
        "optdigits", "OpticalDigits", "1b84de9a9a0d81c3", shape=Shape(5620, 64, 10), openml_id=28
    ),
    _describe("page-blocks", "PageBlocksClassification", "6115cc5960c2ba45", openml_id=30),
    _describe("wall-following", "Wall-following", "12b6bb55bc7e8df9", openml_id=1497),
    _describe("nettalk", "Nettalk(Phoneme)", "fee87ee3a846a935", shape=Shape(5438, 7, 47)),
    _describe("waveform-5000", "Waveform-5000", "2a93e693b183d5cb", openml_id=60),
    _describe("spambase", "Spambase", "f48090f41357cf8a", openml_id=44),
    _describe("abalone", "Abalone", "eb588467c65992da"),
    _describe("hypothyroid", "Hypothyroid(Garavan)", "c1b00a48ca6c867c", openml_id=57),
    _describe("sick-euthyroid", "Sick-euthyroid", "ca6cd0430b2a2f31", openml_id=38),
    _describe("kr-vs-kp", "King-rook-vs-king-pawn", "4c49e96f4a3f920d", openml_id=3),
    _describe(
        "splice",
        "Splice-junctionGeneSequences",
        "6f0aa8b0638cc801",
        shape=Shape(3190, 60, 3),
        openml_id=46,
        drop=("Instance_name",),
    ),
    _describe("segment", "Segment", "e5b071e9685d8c9e", openml_id=36),
    _describe("car", "CarEvaluation", "e8f9d735d2265573", shape=Shape(1728, 6, 4), openml_id=21),
    _describe("volcanoes", "Volcanoes", "7b6ddd2fa52a34b0"),
    _describe("yeast", "Yeast", "7a32e67d30ba3880", openml_id=181),
    _describe("cmc", "ContraceptiveMethodChoice", "8222ca1d1a2e765d", openml_id=23),
    _describe("german", "German", "1b4f18aea05d9487", openml_id=31),
    _describe("led", "LED", "ae1301ee6ad8f600"),
    _describe("vowel", "Vowel", "7f96bf47de75c6fc"),
    _describe("tic-tac-toe", "Tic-Tac-ToeEndgame", "8ddaedd8ad9bbcef", openml_id=50),
    _describe("annealing", "Annealing", "1f1406c8cdad6887", shape=Shape(898, 38, 5), openml_id=2),
    _describe("vehicle", "Vehicle", "a28c6e86f63a2cb2", openml_id=54),
    _describe("pima", "PimaIndiansDiabetes", "62c6de2f46caf4f5", openml_id=37),
    _describe(
        "breast-cancer-wisconsin", "BreastCancer(Wisconsin)", "c0f16fc9260f7db2", openml_id=15
    ),
    _describe("crx", "CreditScreening", "0a39ddcfb6cb58f0", openml_id=29),
    _describe("balance-scale", "BalanceScale", "878dc43551dd3288", openml_id=11),
    _describe("synthetic-control", "Syncon", "535951f5161bcb5e"),
    _describe("chess", "Chess", "49967d7761397766"),
    _describe("cylinder-bands", "Cylinder", "209a58221ddfbb3a"),
    _describe("musk1", "Musk1", "7ca4a2406307af9a"),
    _describe("house-votes-84", "HouseVotes84", "2efc7b19d78614f7", openml_id=56),
    _describe("horse-colic", "HorseColic", "d7f5107b35ee1b8e"),
    _describe("dermatology", "Dermatology", "50b323f903f75b4f", openml_id=35),
    _describe("ionosphere", "Ionosphere", "7b87f752ef7c1863", openml_id=59),
    _describe("bupa", "LiverDisorders(Bupa)", "e3123672128a1dd1"),
    _describe(
        "primary-tumor", "PrimaryTumor", "ffe2afab49ab5eee", shape=Shape(339, 17, 21), openml_id=171
    ),
    _describe("haberman", "Haberman'sSurvival", "0ead5595b81749fe", openml_id=43),
    _describe("heart-cleveland", "HeartDisease(Cleveland)", "d1582b5c4c31d1ee", openml_id=49),
    _describe("heart-hungarian", "Hungarian", "b6f1b4c9f7563c38", openml_id=51),
    _describe("audiology", "Audiology", "741ee75960668d89", openml_id=7),
    _describe("new-thyroid", "New-Thyroid", "79ccd0f779d53732", openml_id=40682),
    _describe(
        "glass", "GlassIdentification", "89f3b4627d963537", shape=Shape(214, 9, 6), openml_id=41
    ),
    _describe("sonar", "SonarClassification", "4a25d52e7f217eed", openml_id=40),
    _describe("autos", "AutoImports", "b6491567b27f3c55", shape=Shape(205, 25, 6), openml_id=9),
    _describe(
        "wine",
        "WineRecognition",
        "1d5d02087a4a6887",
        openml_id=187,
        make=partial(read_bundled, "wine"),
    ),
    _describe("hepatitis", "Hepatitis", "e726c5afb85054ad", openml_id=55),
    _describe("tae", "TeachingAssistantEvaluation", "5348838c01e631e2", openml_id=48),
    _describe(
        "iris",
        "IrisClassification",
        "95b2551bb45c6a68",
        openml_id=61,
        make=partial(read_bundled, "iris"),
    ),
    _describe("lymphography", "Lymphography", "ffea8e2c21218a71", openml_id=10),
    _describe("echocardiogram", "Echocardiogram", "8ce590d805d9873d"),
    _describe("promoters", "PromoterGeneSequences", "afab3c3b48a5aa30"),
    _describe("zoo", "Zoo", "0bd2cb656d129c31", openml_id=62, drop=("animal",)),
    _describe("post-operative", "PostoperativePatient", "4bfba9ad75820c53", openml_id=34),
    _describe("labor", "LaborNegotiations", "34cc1260c13e759f", openml_id=4),
    _describe("lung-cancer", "LungCancer", "c6789e548115ae20", openml_id=163),
    _describe("contact-lenses", "Contact-lenses", "5e4142b3388a0d57"),
]
DATASETS = {dataset.name: dataset for dataset in _ALL}
RECONSTRUCTED = {
    "covertype-reconstructed": _describe(
        "covertype-reconstructed",
        "Covertype",
        "739a1dffa5157c64",
        shape=Shape(581012, 12, 7),
        openml_id=1596,
        base="covertype",
        derive=reconstruct_covertype,
    )
}
