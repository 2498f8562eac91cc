# SPDX-License-Identifier: BSD-2-Clause
#
# The demo in its veth lab, and the wiretap that shows what crosses the lab's wires.

check-run: $(BUILD)/wiretap

WIRETAP_OBJ := $(call obj,scripts/wiretap.c scripts/decode.c)
$(WIRETAP_OBJ): scripts/decode.h $(BUILD)/wiretap.skel.h

$(BUILD)/wiretap: $(WIRETAP_OBJ) $(BUILD)/libxatomic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

demo-run: all $(BUILD)/wiretap
	$(Q)BUILD=$(abspath $(BUILD)) scripts/demo.sh

.PHONY: demo-run
