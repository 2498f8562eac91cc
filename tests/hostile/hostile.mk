# SPDX-License-Identifier: BSD-2-Clause

$(BUILD)/tests/test_linear: $(call aobj,tests/hostile/linear.c)
