"""What is said of a problem before it is tested: dependent, few or rounded rows, models that contradict themselves."""

from steinball.cautions import DependentRowsWarning, FewRowsWarning
from steinball.checks.thinning import thin

__all__ = ["DependentRowsWarning", "FewRowsWarning", "thin"]
