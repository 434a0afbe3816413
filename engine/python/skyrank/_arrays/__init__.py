"""Functions over arrays: selections and measures of fronts."""
