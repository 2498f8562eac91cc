# SPDX-License-Identifier: BSD-2-Clause
#
# make interop    real clients: boots a guest with soft-RoCE in an emulator (root; downloads Debian's packages)
#                 SUITES=tests/interop/round_X.sh   one round
#                 INTEROP_CACHE=DIR                 keep packages and guests there, for several source trees

INTEROP_CACHE ?=
export INTEROP_CACHE

# What cannot be had here is told by the rounds, which are skipped, so it must not stop make.
INTEROP_SRC  := $(wildcard tests/interop/clients/*.c)
INTEROP_BIN   = $(if $(wildcard $(BUILD)/interop/unavailable),,$(INTEROP_SRC:tests/interop/clients/%.c=$(BUILD)/interop/%))

# The ICRC of the tests' model, for check_capture.py.
$(BUILD)/interop/model.so: $(call obj,$(wildcard tests/model/*.c))
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -shared $^ -o $@

$(BUILD)/interop/%: tests/interop/clients/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) $< -lrdmacm -libverbs -o $@

$(BUILD)/interop/tsc_khz: tests/interop/guest/tsc_khz.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) $< -o $@

interop: deps
	$(Q)$(MAKE) --no-print-directory interop-prepare
	$(Q)$(MAKE) --no-print-directory interop-run

interop-prepare:
	$(Q)BUILD=$(BUILD) tests/interop/prepare.sh

interop-build: all $(BUILD)/asan/xatomic $(BUILD)/asan/xatomic-req $(BUILD)/interop/model.so $(BUILD)/interop/tsc_khz \
	       $(INTEROP_BIN)

interop-run: interop-build
	$(Q)BUILD=$(BUILD) tests/run-suites.sh $(or $(SUITES),$(wildcard tests/interop/round_*.sh))

.PHONY: interop interop-prepare interop-build interop-run
