"""What the command understands: a dataclass for every command, which inherits groups of options that commands share.

The last group comes first in the help. The docstring of a dataclass is its help: ``name : VALUE`` and a sentence for
each of its fields. ``max_rows: int`` is ``--max-rows N``, ``json: bool = False`` a switch, a field without a default an
argument; a field that the docstrings of a command and its groups leave out is no option. Nothing of the library is
imported here, so that help does not wait for it. A new command is a dataclass in ``COMMANDS`` and a function in
``steinball/cli/commands.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

Share = float
"""A share, which people write as 0.05 or 5%."""


@dataclass(frozen=True)
class DataFile:
    """the data

    data : DATA
        CSV, NPY, NPZ or Parquet file; - reads CSV from standard input
    columns : LIST
        columns to read: names, positions from 1, ranges (2-5) or patterns (emb_*), with commas
    missing : error|drop
        rows that have a missing value are an error (the default), or dropped
    na : TEXT
        a cell of a CSV file that stands for a missing value, besides NA, NaN, null, none and -; may be given again
    header
        whether the first line of a CSV file has names
    skip_lines : LIST
        lines of a CSV file to leave out, such as units below the header: numbers from 1 and ranges (2 or 1-3,5)
    encoding : NAME
        encoding of a CSV file, such as latin-1 or utf-16; UTF-8 by default
    decimal : MARK
        what stands before the fraction of a number in a CSV file: . or a comma
    thousands : MARK
        what groups the digits of numbers in a CSV file: a comma, a point, a space or an apostrophe
    key : NAME
        which array of an NPZ file to read
    max_rows : N
        test a random N of the rows, drawn by --seed; the answer says so
    """

    data: str
    columns: str | None = None
    missing: str = "error"
    na: list[str] | None = None
    header: bool | None = None
    skip_lines: str | None = None
    encoding: str = "UTF-8"
    decimal: str | None = None
    thousands: str | None = None
    key: str | None = None
    max_rows: int | None = None


@dataclass(frozen=True)
class Model:
    """the model (--model, --log-density or --fit)

    model : MODEL
        built-in model such as normal:mean=0,sd=1, one of SciPy such as scipy:gamma:a=2,scale=3, or FILE.py:NAME of a
        score or a model
    log_density : FILE.py:NAME
        a log density, up to a constant
    backend : NAME
        what differentiates the log density: numerical (the default, for NumPy), torch or jax
    fit : FAMILY
        a family whose parameters are fitted: normal, student-t, gamma, lognormal, weibull, mixture:3, or
        FILE.py:NAME
    """

    model: str | None = None
    log_density: str | None = None
    backend: str | None = None
    fit: str | None = None


@dataclass(frozen=True)
class Tolerance:
    """the question (--contamination or --radius; with --fit neither is needed)

    contamination : SHARE
        tolerated share of contamination, such as 0.05 or 5%
    radius : NUMBER
        tolerated distance, where 0 is the standard test, or FILE.py:NAME of a tolerated set
    level : SHARE
        probability of a false rejection; 0.05 by default
    require : close
        end with 3 unless the model is shown to be close enough
    """

    contamination: Share | None = None
    radius: str | None = None
    level: Share = 0.05
    require: str | None = None


@dataclass(frozen=True)
class Question:
    """the question (--contamination or --tolerance)

    contamination : SHARE
        some rows are garbage, up to this share such as 5%, and the others are an honest sample of the model
    tolerance : SHARE
        in no region may the shares of data and model differ by more, such as 5%
    level : SHARE
        probability of a false statement; 0.05 by default
    require : good-enough|close
        end with 3 unless the model is shown to be good enough, or close in KSD where it has a score alone
    seed : N
        seed of what is random; 0 by default
    """

    contamination: Share | None = None
    tolerance: Share | None = None
    level: Share = 0.05
    require: str | None = None
    seed: int = 0


@dataclass(frozen=True)
class Method:
    """the method

    calibration : NAME
        boundary (the default), weighted (the paper's) or wild bootstrap; for finite samples exact (samples of the
        model), betting or deviation; with --fit projected or refit; or FILE.py:NAME
    resamples : N
        number of bootstrap draws; 999 by default
    seed : N
        seed of the bootstrap; 0 by default
    tau : BOUND
        bound of the Stein kernel: best, auto (a proven one), sample, optimized or a number; by default best, with
        --radius or --jumps sample, for exact, betting and deviation auto
    jumps
        jump between the model's modes first, so that their weights are seen
    kernel : KERNEL
        imq (the default), gaussian or matern, as in imq:lengthscale=2, or FILE.py:NAME
    aggregate
        several length scales instead of one; needs --contamination
    """

    calibration: str | None = None
    resamples: int = 999
    seed: int = 0
    tau: str | None = None
    jumps: bool = False
    kernel: str = "imq"
    aggregate: bool = False


@dataclass(frozen=True)
class Work:
    """the computation

    engine : NAME
        how pairs of points are worked through: auto (the default), dense, blocked or lowrank
    jobs : N
        number of threads; all cores by default
    memory_limit : SIZE
        memory that may be used, such as 2GB; half of what is free by default
    no_progress
        show no progress, also on a terminal
    """

    engine: str = "auto"
    jobs: int | None = None
    memory_limit: str | None = None
    no_progress: bool = False


@dataclass(frozen=True)
class Output:
    """the answer

    report : FILE.html
        write a page to hand over, with everything in it
    plot : FILE.png
        write the picture: PNG, PDF or SVG; needs matplotlib
    details
        print a table of everything in place of four lines
    json
        print the result as JSON
    debug
        print the traceback of an error
    """

    report: str | None = None
    plot: str | None = None
    details: bool = False
    json: bool = False
    debug: bool = False


@dataclass(frozen=True)
class Models:
    """the models (two or more, each with a name)

    model : NAME=MODEL
        a model and its name, as in wide=normal:sd=2, student=scipy:t:df=4 or mine=FILE.py:NAME; given again for each
    fit : NAME=FAMILY
        a family that is fitted on half of the rows, and its name: normal, student-t, gamma, lognormal, weibull,
        mixture:3
    """

    model: list[str] | None = None
    fit: list[str] | None = None


@dataclass(frozen=True)
class Comparison:
    """the question

    contamination : SHARE
        tolerated share of the rows that may be anything, such as 0.05 or 5%; nothing by default
    level : SHARE
        probability of calling some model closer that is not; 0.05 by default
    seed : N
        seed of the draws of the models; 0 by default
    """

    contamination: Share = 0.0
    level: Share = 0.05
    seed: int = 0


@dataclass(frozen=True)
class FeedFile(DataFile):
    """the rows (CSV, on standard input or in a file)

    data : FILE.csv
        read rows from a file; standard input by default
    columns : LIST
        columns to read: names, positions from 1, ranges (2-5) or patterns (emb_*), with commas
    missing : error|drop
        rows that have a missing value are an error (the default), or dropped and not counted
    header
        whether the first line has names
    skip_lines : LIST
        lines to leave out, such as units below the header: numbers from 1 and ranges (2 or 1-3,5)
    encoding : NAME
        encoding, such as latin-1 or utf-16; UTF-8 by default
    decimal : MARK
        what stands before the fraction of a number: . or a comma
    thousands : MARK
        what groups the digits of numbers: a comma, a point, a space or an apostrophe
    """

    data: str = "-"


@dataclass(frozen=True)
class Promise(Model):
    """the model, and what is promised

    model : MODEL
        built-in model such as normal:mean=0,sd=1, one of SciPy such as scipy:gamma:a=2,scale=3, or FILE.py:NAME
    contamination : SHARE
        tolerated share of the rows that may always be anything, such as 0.05 or 5%
    expected_run : N
        the least expected number of rows to a false alarm; 10000 by default
    """

    contamination: Share | None = None
    expected_run: float = 10_000.0


@dataclass(frozen=True)
class State:
    """the state and the answer

    state : FILE.npz
        go on from this state, where there is one, and write it after every batch of rows
    again
        the rows begin with row 1 again: skip those that the state has counted
    every
        print a line for every row, and not for alarms alone
    plot : FILE.png
        write a picture of the evidence at the end: PNG, PDF or SVG; needs matplotlib
    debug
        print the traceback of an error
    """

    state: str | None = None
    again: bool = False
    every: bool = False
    plot: str | None = None
    debug: bool = False


@dataclass(frozen=True)
class Demo:
    """Check two models of weekly wages: one is good enough, one is a misfit.

    output : FOLDER
        where to put the picture and the report; a new folder by default
    """

    output: str | None = None


@dataclass(frozen=True)
class GoodnessOfFit(Output, Work, Method, Tolerance, Model, DataFile):
    """Test whether DATA could come from a model, up to a stated amount of contamination.

    The exit code is 0 when the model is not rejected, 1 when it is, 2 when there is no decision, 130 after Ctrl-C; with
    --require close it is 3 when the data show neither a misfit nor that the model is close enough.
    """


@dataclass(frozen=True)
class Check(Output, Question, Model, DataFile):
    """Is a model good enough for DATA? One verdict: MISFIT, GOOD ENOUGH, CLOSE IN KSD or UNDECIDED.

    The exit code is 1 for a misfit, 2 when there is no decision, 130 after Ctrl-C, otherwise 0; with --require it is 3
    when the data show neither a misfit nor what is required.
    """


@dataclass(frozen=True)
class Compare(Output, Comparison, Models, DataFile):
    """Say which of several models is closer to DATA, of which a share may be anything.

    The exit code is 0 when models were compared, 2 when there is no answer, 130 after Ctrl-C.
    """


@dataclass(frozen=True)
class Watch(State, Promise, FeedFile):
    """Raise an alarm when rows on standard input follow a model no longer: a line of JSON for each.

    The exit code is 0 when the rows end without an alarm, 1 when there was one, 2 after an error, 130 after Ctrl-C.
    """


@dataclass(frozen=True)
class Predicted:
    """the columns, by name or position

    y : COLUMN
        what was observed
    mean : COLUMN
        the mean of a normal prediction
    sd : COLUMN
        its standard deviation: a column, or a number for all rows
    draws : LIST
        at least 19 columns of draws in place of --mean and --sd, such as 'draw_*'
    features : LIST
        columns that a misfit may depend on; prediction and order of the rows are added
    censoring : COLUMN
        values at which rows are, or would be, censored from the right
    """

    y: str | None = None
    mean: str | None = None
    sd: str | None = None
    draws: str | None = None
    features: str | None = None
    censoring: str | None = None


@dataclass(frozen=True)
class Simulation:
    """the simulation

    rows : any|independent
        where contaminated rows lie: anywhere (the default), or independent of the features
    resamples : N
        number of simulated samples; 299 by default
    """

    rows: str = "any"
    resamples: int = 299


@dataclass(frozen=True)
class PredictionCheck(Output, Simulation, Question, Predicted, DataFile):
    """Test whether the predictions in DATA are right for all rows but a tolerated share.

    The exit code is 0 when they are not rejected, 1 when they are, 2 when there is no decision, 130 after Ctrl-C; with
    --require good-enough it is 3 when the rows show neither a misfit nor that the predictions are good enough.
    """


COMMANDS: dict[str, type] = {
    "check": Check,
    "compare": Compare,
    "demo": Demo,
    "monitor": Watch,
    "predictive": PredictionCheck,
    "test": GoodnessOfFit,
}
