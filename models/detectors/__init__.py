"""Parts that the detectors share: anchors, boxes, suppression, pyramid, heads, calibration."""
