"""What is said of a problem before it is tested: rows that depend on each other, too few rows; and rows far apart."""

from steinball.cautions import DependentRowsWarning, FewRowsWarning
from steinball.checks.thinning import thin

__all__ = ["DependentRowsWarning", "FewRowsWarning", "thin"]
