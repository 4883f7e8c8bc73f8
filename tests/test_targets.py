"""Targets are found by their names, and by the cores and chips that they serve."""

from collections import Counter

import pytest

from edgekit import targets


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("cortex_m4", "cortex_m4"),
        ("Cortex-M4", "cortex_m4"),
        ("cortexm4", "cortex_m4"),
        ("cortex m4f", "cortex_m4"),
        ("cortex-m0+", "cortex_m0plus"),
        ("cortex-m3", "cortex_m0plus"),
        ("cortex_m33", "cortex_m33"),
        ("cortex-m85", "cortex_m55"),
        ("STM32F411RE", "cortex_m4"),
        ("stm32h743", "cortex_m7"),
        ("rp2040", "cortex_m0plus"),
        ("Raspberry Pi Pico", "cortex_m0plus"),
        ("Raspberry Pi Pico 2", "cortex_m33"),
        ("rp2350", "cortex_m33"),
        ("nrf52840", "cortex_m4"),
        ("esp32c3", "riscv32_imc"),
        ("raspberry pi 4", "aarch64_linux"),
        ("ESP32-S3", "generic"),
        ("x86-64", "x86_64"),
    ],
)
def test_a_chip_has_its_target(said, name):
    assert targets.load(said) == targets.load(name)
    assert targets.load(said).name == name


@pytest.mark.parametrize(
    ("said", "meant"), [("cortex_m5", "cortex_m"), ("cortx_m4", "cortex_m4"), ("stm32x4", "stm32")]
)
def test_a_name_misspelled_is_told_a_right_one(said, meant):
    with pytest.raises(ValueError, match=rf"did you mean '{meant}\w*'\? There are: aarch64_linux"):
        targets.load(said)


def test_another_name_is_told_all_targets():
    with pytest.raises(ValueError, match="no target 'zzz'; there are: aarch64_linux"):
        targets.load("zzz")


def test_a_chip_has_one_target():
    chips = Counter(a for n in targets.names() for a in targets.load(n).also)
    assert not [chip for chip, count in chips.items() if count > 1]
    assert not set(chips) & set(targets.names())


def test_a_core_has_soft_floats_as_an_option():
    assert targets.load("STM32F411 soft").name == targets.load("cortex-m4-soft").name
    assert targets.load("cortex_m4_soft").kernels == "cortex_m"
    with pytest.raises(ValueError, match="has no soft-float variant; available for: cortex_m4"):
        targets.load("cortex_m0plus_soft")
    with pytest.raises(ValueError, match="no target 'zzz'"):
        targets.load("zzz_soft")
