"""The normalisation that most scorers share."""

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.framework.stages import MAX_NODE_SCORE


def default_normalize(scores: Int64, *, reverse: bool = False) -> Int64:
    """Scale so that the highest becomes 100; reversed, the lowest are best.

    When all are zero there is nothing to scale: they stay 0, or all become 100 in reverse.
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    scaled = scores * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
