"""Regions that are short of rows: where a model can be drawn from, probabilities are compared (docs/theory/regions.md).

``source.Source`` says what is known of the model, ``design.Design`` fixes views, cuts and arcs before the rows are
seen, ``tails`` has binomial tails and limits, ``counted.simulate`` draws the null distribution, ``counted.count``
counts rows and gives p-values, bounds and the region that decides, ``counted.blame`` names rows.
``source.find_grid`` sees rounded columns.
"""
