"""``set_params`` with an error of dcot if there is no such parameter."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from dcot.errors import InvalidParameterError


class Parameters(BaseEstimator):
    """An estimator of scikit-learn whose ``set_params`` raises errors of dcot."""

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters.

        Raises
        ------
        InvalidParameterError
            If there is no parameter of that name.
        """
        known = self._get_param_names()
        for name in parameters:
            own, _, inner = name.partition("__")
            value = parameters.get(own, getattr(self, own, None))
            if own not in known or (inner and not hasattr(value, "set_params")):
                raise InvalidParameterError(
                    f"Invalid parameter {name!r} for {type(self).__name__}: it has "
                    f"{', '.join(known)}"
                )
        super().set_params(**parameters)
        return self
