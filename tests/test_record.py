"""Results remember how they came about: the call, its seed, its warnings, the names of the columns."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest

import steinball as sb
from steinball.record import versions

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).normal(size=60)


def test_the_call_can_be_read_and_names_its_seed() -> None:
    record = sb.robust_ksd_test(X, sb.models.Gaussian(), contamination=0.05, level=0.1, rng=7)._record
    assert record.call == (
        "steinball.robust_ksd_test(<60 numbers>, Gaussian(mean=0, cov=1, dimension=1), contamination=0.05, level=0.1, "
        "rng=7)"
    )


def test_a_call_is_written_in_the_order_of_the_signature() -> None:
    record = sb.ksd_test(rng=7, level=0.1, model=sb.models.Gaussian(), x=X)._record
    assert record.call == "steinball.ksd_test(<60 numbers>, Gaussian(mean=0, cov=1, dimension=1), level=0.1, rng=7)"


def test_a_call_without_a_seed_can_be_repeated() -> None:
    first = sb.ksd_test(X, lambda x: -x)
    found = re.search(r"rng=(\d+)\)$", first._record.call)
    assert found is not None
    again = sb.ksd_test(X, lambda x: -x, rng=int(found.group(1)))
    assert again.draws is not None
    np.testing.assert_array_equal(again.draws, first.draws)
    assert "0x" not in first._record.call  # no address of a lambda


def test_warnings_are_remembered_once_and_also_where_nobody_saw_them() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sb.ksd_test(X, lambda x: -x, radius=sb.TotalVariation(0.05), tilt="auto", rng=0)
        assert len(result._record.warnings) == 1
        assert "TotalVariation" in result._record.warnings[0]
        other = result.at(radius=sb.Hellinger(0.1))
    assert len(other._record.warnings) == 2
    assert len(result._record.warnings) == 1  # what was said later is not its own


def test_other_settings_keep_the_record() -> None:
    result = sb.robust_ksd_test(X, sb.models.Gaussian(), 0.05, rng=0)
    for other in (
        result.at(level=0.1),
        result.at(contamination=0.2),
        result.extend(100),
        pickle.loads(pickle.dumps(result)),
    ):
        assert other._record.call == result._record.call


def test_fits_and_chains_name_their_own_call_and_columns() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"height": X})
    fit = sb.fit_test(frame, "normal", rng=0)
    assert fit._record.call == "steinball.fit_test(<60 × 1 numbers>, 'normal', rng=0)"
    assert fit.explain().names == ("height",)
    chains = sb.mcmc_test(X.reshape(2, 30, 1), sb.models.Gaussian(), rng=0)
    assert chains._record.call.startswith("steinball.mcmc_test(<2 × 30 × 1 numbers>, Gaussian(")


def test_names_of_columns_are_those_of_the_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["height", "<script>"])
    result = sb.robust_ksd_test(frame, lambda x: -x, 0.05, rng=0)
    assert result.explain().names == ("height", "<script>")
    assert result.at(contamination=0.2).explain().names == ("height", "<script>")


def test_a_command_names_its_call_and_the_columns_of_its_file() -> None:
    plain = sb.robust_ksd_test(X, lambda x: -x, 0.05, rng=0)
    result = plain._called("steinball test data.csv", ("height",))
    assert result._record.call == "steinball test data.csv"
    assert result.at(level=0.1).to_dict()["details"]["columns"] == ["height"]
    assert "columns" not in plain.to_dict()["details"]


def test_a_call_that_is_wrong_says_so_itself() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        sb.ksd_test(X)  # type: ignore[call-arg]


def test_every_version_is_told() -> None:
    assert versions()["steinball"] == sb.__version__
    assert versions()["numpy"] == np.__version__
