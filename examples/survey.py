"""Draw a table such as a census has: words, numbers, missing values, and who earns much.

    python examples/survey.py survey.csv 20000

writes it as CSV. The rule is known, so that one can see what a model finds: income rises with age
up to 50 and with education; and hours pay in offices but not on farms, which no column tells alone.
"""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv

EDUCATION = ("school", "college", "university")
WORK = ("office", "farm", "shop", "workshop")
REGIONS = ("north", "south", "east", "west")


def draw_survey(rows: int = 20_000, seed: int = 0) -> pa.Table:
    """Return a table of `rows` people; the class is the column "income"."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, rows)
    education = random.choice(3, rows, p=[0.5, 0.3, 0.2])
    work = random.choice(4, rows, p=[0.4, 0.15, 0.25, 0.2])
    hours = np.clip(random.normal(38, 10, rows).round(), 5, 80)
    region = random.integers(0, 4, rows)
    long_week = (hours - 38) / 10
    slope = np.array([1.2, -1.2, 0.0, 0.3])[work]
    log_odds = -1.2 - np.abs(age - 50) / 12 + 1.2 * education + slope * long_week
    rich = random.random(rows) < 1 / (1 + np.exp(-log_odds))
    return pa.table(
        {
            "age": age,
            "education": np.take(EDUCATION, education),
            "work": pa.array(np.take(WORK, work), mask=random.random(rows) < 0.05),
            "hours": pa.array(hours, mask=random.random(rows) < 0.05),
            "region": np.take(REGIONS, region),
            "income": np.where(rich, "high", "low"),
        }
    )


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "survey.csv"
    pyarrow.csv.write_csv(draw_survey(int(sys.argv[2]) if len(sys.argv) > 2 else 20_000), path)
    print(f"wrote {path}")
