"""VolumeBinding: a pod goes where its volumes are, or can be found or made, and gets them there."""
