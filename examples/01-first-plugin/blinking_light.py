"""BlinkingLight: prefer nodes with many blinking lights."""


class BlinkingLight:
    name = "BlinkingLight"

    def score(self, pod, node, state):
        return int(node.labels.get("example.com/lights", 0))

    def normalize_score(self, pod, scores, state):
        highest = scores.max()
        return scores * 100 // highest if highest else scores
