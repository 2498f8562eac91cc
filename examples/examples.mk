# SPDX-License-Identifier: BSD-2-Clause
#
# The examples are compiled as a user of the installed library would compile them: its public headers, its shared
# object, and no flags of this project but the warnings.

# What needs no RDMA library is built and run by `make check`.
EXAMPLES_PLAIN := $(addprefix $(BUILD)/examples/,meter requester)
EXAMPLES_RDMA  := $(addprefix $(BUILD)/examples/,first sequencer lease exchange)

examples: $(EXAMPLES_PLAIN) $(EXAMPLES_RDMA)

check-run: $(EXAMPLES_PLAIN)

# Where the libraries cannot be had, the rounds are skipped and say so.
interop-build: $(if $(wildcard $(BUILD)/interop/unavailable),,examples)

$(EXAMPLES_PLAIN): EXAMPLE_LIBS = $(BUILD)/$(SONAME) -Wl,-rpath,'$$ORIGIN/..'
$(EXAMPLES_RDMA): EXAMPLE_LIBS = -lrdmacm -libverbs
$(BUILD)/examples/exchange: EXAMPLE_LIBS = -libverbs -ljson-c

# One sentence instead of the compiler's many.
rdma-headers:
	$(Q)echo '#include <rdma/rdma_verbs.h>' | $(CC) -x c -fsyntax-only - 2>/dev/null || { echo \
		"examples: the headers of librdmacm and libibverbs are missing; on Debian: apt-get install librdmacm-dev libibverbs-dev" >&2; \
		exit 1; }

$(EXAMPLES_RDMA): | rdma-headers
$(EXAMPLES_PLAIN): $(BUILD)/$(SONAME)
$(BUILD)/examples/sequencer $(BUILD)/examples/lease: examples/remote.c

$(BUILD)/examples/%: examples/%.c $(wildcard examples/*.h include/xatomic/*.h)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) -Iinclude $(filter %.c,$^) \
		$(EXAMPLE_LIBS) -o $@

.PHONY: examples rdma-headers
