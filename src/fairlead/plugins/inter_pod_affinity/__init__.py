"""InterPodAffinity: pods near those that they want, far from those that they do not."""
