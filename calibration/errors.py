"""The one exception of calibration."""


class CalibrationError(ValueError):
    """Samples or statistics that cannot be used.

    The message is for the user: it names the file or array, the value found, and the remedy.
    """
