# SPDX-License-Identifier: Apache-2.0
"""generate.py FILE TEST_FILE: 200,000 sparse rows of 500 columns, about 25 entries each, in LIBSVM's format, and more
of them to test with; the same files every time. A row speaks of one topic of each of two groups, and of something
else; its label says whether the topics' signs agree, which no single column can tell, and one label in 2,000 is
wrong."""
import sys

import numpy as np

ROWS, COLUMNS, TOPICS, TOPIC_COLUMNS, OWN, ELSE, LEVELS, WRONG = 200_000, 500, 2, 20, 12, 1, 10, 0.0005
TEST_ROWS = 20_000


def generate(train: str, test: str) -> None:
    rows = ROWS + TEST_ROWS
    rng = np.random.default_rng(1)
    vocabulary = rng.permutation(COLUMNS)[:2 * TOPICS * TOPIC_COLUMNS].reshape(2, TOPICS, TOPIC_COLUMNS)
    topics = rng.integers(TOPICS, size=(2, rows))
    picked = [
        np.take_along_axis(vocabulary[g][topics[g]],
                           rng.random((rows, TOPIC_COLUMNS)).argsort(1)[:, :OWN], 1) for g in (0, 1)
    ]
    columns = np.sort(np.concatenate([*picked, rng.integers(COLUMNS, size=(rows, ELSE))], 1), 1)
    levels = rng.integers(LEVELS // 2, LEVELS + 1, size=columns.shape)
    agree = (topics[0] % 2 == topics[1] % 2) != (rng.random(rows) < WRONG)
    again = np.concatenate([np.zeros((rows, 1), bool), columns[:, 1:] == columns[:, :-1]], 1)
    words = np.array([[f"{column + 1}:{level / LEVELS:g}" for level in range(1, LEVELS + 1)] for column in range(COLUMNS)])
    texts = words[columns, levels - 1]
    for path, some in ((train, range(ROWS)), (test, range(ROWS, rows))):
        with open(path, "w") as file:
            for row in some:
                file.write(("+1 " if agree[row] else "-1 ") + " ".join(texts[row][~again[row]]) + "\n")


if __name__ == "__main__":
    generate(*sys.argv[1:])
