import numpy as np
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss

from deepbroad.measures import measure


def test_two_classes_worked_by_hand():
    # Residuals: 0.25, 0.25 | 0.5, 0.5; one of two rows is a tie, which the first class wins.
    found = measure(["a", "b"], [[0.75, 0.25], [0.5, 0.5]], classes=["a", "b"])
    assert found.error == 0.5
    assert found.rmse == pytest.approx(np.sqrt((2 * 0.0625 + 2 * 0.25) / 4))
    assert found.log_loss == pytest.approx(-(np.log(0.75) + np.log(0.5)) / 2)


def test_certain_and_right_is_zero_and_certain_and_wrong_is_the_worst():
    assert measure([0, 1], np.eye(2), classes=[0, 1]) == (0.0, 0.0, 0.0)
    wrong = measure([1, 0], np.eye(2), classes=[0, 1])
    assert wrong.error == wrong.rmse == 1.0
    assert wrong.log_loss == pytest.approx(52 * np.log(2))


def test_rmse_divides_by_all_classes_of_the_data_set():
    p = [[0.5, 0.5]]
    assert measure([0], p, classes=[0, 1]).rmse == pytest.approx(np.sqrt(0.5 / 2))
    assert measure([0], p, classes=[0, 1], labels=[0, 1, 2, 3, 4]).rmse == pytest.approx(
        np.sqrt(0.5 / 5)
    )


def test_a_class_that_the_model_never_saw_has_probability_zero():
    # The unseen class sorts first, in the middle and last.
    for unseen in (-1, 1, 3):
        found = measure([0, unseen], [[1.0, 0.0], [0.5, 0.5]], classes=[0, 2])
        assert found.error == 0.5
        assert found.rmse == pytest.approx(np.sqrt((1 + 0.25 + 0.25) / (2 * 3)))
        assert found.log_loss == pytest.approx(52 * np.log(2) / 2)


def test_permuting_the_columns_changes_nothing():
    random = np.random.default_rng(0)
    p = random.dirichlet(np.ones(4), size=50)
    classes = np.array(["d", "a", "c", "b"])
    y = random.choice(classes, 50)
    first = measure(y, p, classes=classes)
    order = [2, 0, 3, 1]
    assert measure(y, p[:, order], classes=classes[order]) == pytest.approx(first)


def test_all_agree_with_scikit_learn_and_a_one_hot_table():
    random = np.random.default_rng(1)
    p = random.dirichlet(np.ones(3), size=200)
    y = random.integers(3, size=200)
    found = measure(y, p, classes=[0, 1, 2])
    assert found.log_loss == pytest.approx(sklearn_log_loss(y, p, labels=[0, 1, 2]))
    assert found.rmse == pytest.approx(np.sqrt(np.mean((np.eye(3)[y] - p) ** 2)))
    assert found.error == pytest.approx(np.mean(p.argmax(axis=1) != y))


def test_the_given_probabilities_are_left_alone():
    p = np.full((2, 2), 0.5)
    measure([0, 1], p, classes=[0, 1])
    assert (p == 0.5).all()


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([], np.empty((0, 2)), "at least one row"),
        ([0, 1], [[0.5, 0.5]], "probabilities must have shape"),
        ([0], [[1.0]], "probabilities must have shape"),
    ],
)
def test_sizes_that_do_not_match_are_refused(y, p, message):
    with pytest.raises(ValueError, match=message):
        measure(y, p, classes=[0, 1])
