"""From columns of numbers, categories and missing values to columns of numbers."""

from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

#: Categories of a column that get an indicator of their own; rarer ones share one.
MOST_INDICATORS = 30


def takes_raw_columns(estimator):
    """Whether an estimator handles categories and missing values itself."""
    return type(estimator).__module__.startswith("adakern.adaptive.")


def make_encoder(kinds):
    """Missing numbers become the median, with a mark; categories become indicators."""
    categories = [name for name, kind in kinds.items() if kind == "categorical"]
    numbers = [name for name in kinds if name not in categories]
    return make_column_transformer(
        (
            SimpleImputer(
                add_indicator=True, strategy="median", keep_empty_features=True
            ),
            numbers,
        ),
        (
            OneHotEncoder(handle_unknown="ignore", max_categories=MOST_INDICATORS),
            categories,
        ),
        sparse_threshold=0,
    )
