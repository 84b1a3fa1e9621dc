"""A few sentences with vectors, and parquet files of them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, WIDTH = 7, 4
SENTENCES = [f"Sentence {number}, écrit." for number in range(ROWS)]
VECTORS = np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)


def table(path, vectors, name="vector", texts=SENTENCES, column="text", **others):
    pq.write_table(pa.table({column: pa.array(texts), name: vectors, **others}), path, row_group_size=2)
    return path


def fixed(vectors=VECTORS):
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
