from hypothesis import settings

# A busy machine is no fault of the code: examples have no deadline.
settings.register_profile("calibration", deadline=None)
settings.load_profile("calibration")
