# SPDX-License-Identifier: BSD-2-Clause
#
# make            build everything into $(BUILD)
# make demo       install what is missing, build, run the demo in a veth lab (root)
# make check      install what is missing, build, run all tests (root)
# make interop    real clients: a guest with soft-RoCE against the responder (root, downloads packages)
# make fuzz       run the fuzzers for SECONDS each, from SEED (root)
# make hostile    OPS operations over a wire that loses, corrupts, duplicates and reorders packets (root)
# make faults     each command with each of its calls to the kernel failing, and killed there (root)
# make kill       kill -9 of commands at random moments under traffic, ROUNDS times (root)
# make race       ROUNDS of each race of two CPUs and the control plane (root)
# make mutation   changes the BPF program in 1,500 places, one at a time; the tests must notice (root)
# make bench      xatomic beside an echo and beside what else one could take, into docs/bench/ (root)
# make bench-quick  FETCH_ADD against the echo only, half a minute (root)
# make examples   build the programs of examples/ (libibverbs-dev, librdmacm-dev)
# make install    programs, library, headers, man pages, completion (DESTDIR, PREFIX)
# make V=1        show the commands
# make help       this text

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
CLANG_FORMAT ?= clang-format
VERSION := 0.1.0

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

WARN     := -Wall -Wextra -Werror
CPPFLAGS += -Iinclude -Iuser -I$(BUILD) -D_GNU_SOURCE -DXATOMIC_VERSION='"$(VERSION)"'
CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu11 $(WARN)
SAN      := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDLIBS   := -lbpf -ljson-c -lz -lm

# clang's BPF target knows no architecture of its own: name ours for <asm/types.h> and for the few places
# where the memory model matters.
MULTIARCH  := $(shell $(CC) -print-multiarch)
BPF_ARCH   := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(firstword $(subst -, ,$(MULTIARCH)))))
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g $(WARN) -Wno-address-of-packed-member \
	      -D__TARGET_ARCH_$(BPF_ARCH) -Iinclude -I$(BUILD) -idirafter /usr/include/$(MULTIARCH)

# Sources are found by where they lie, so a new file needs no line here.
BPF_SRC    := $(wildcard bpf/*.bpf.c)
BPF_OBJ    := $(BPF_SRC:bpf/%.bpf.c=$(BUILD)/%.bpf.o)
BPF_SKEL   := $(BPF_OBJ:.bpf.o=.skel.h)
LIB_SRC    := $(filter-out %/gen_icrc_tables.c,$(wildcard user/lib/*.c user/requester/*.c))
COMMON_SRC := $(wildcard user/common/*.c)
CM_SRC     := $(wildcard user/cm/*.c)
CLI_SRC    := $(wildcard user/cli/*.c)
REQ_SRC    := $(wildcard user/req/*.c)
PROGRAMS   := $(if $(CLI_SRC),$(BUILD)/xatomic) $(if $(REQ_SRC),$(BUILD)/xatomic-req)
SONAME     := libxatomic.so.0
HEADERS    := $(wildcard include/xatomic/*.h bpf/*.bpf.h bpf/*.h user/*/*.h tests/*/*.h)

obj  = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
aobj = $(patsubst %.c,$(BUILD)/asan/%.o,$(1))

all: $(BPF_OBJ) $(PROGRAMS) $(BUILD)/libxatomic.a $(BUILD)/$(SONAME)

.SECONDARY:
.DELETE_ON_ERROR:

$(BUILD)/gen_icrc_tables: user/lib/gen_icrc_tables.c
	$(call say,HOSTCC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $< -lz -o $@

$(BUILD)/icrc_tables.h: $(BUILD)/gen_icrc_tables
	$(call say,GEN,$@)
	$(Q)$< > $@

$(BUILD)/%.bpf.o: bpf/%.bpf.c $(BUILD)/icrc_tables.h $(wildcard bpf/*.h include/xatomic/*.h)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(BUILD)/%.skel.h: $(BUILD)/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(*F)_bpf > $@

$(BUILD)/obj/%.o: %.c $(HEADERS) | $(BPF_SKEL)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -c $< -o $@

$(BUILD)/asan/%.o: %.c $(HEADERS) | $(BPF_SKEL)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -c $< -o $@

$(BUILD)/libxatomic.a: $(call obj,$(LIB_SRC))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/$(SONAME): $(call obj,$(LIB_SRC)) user/lib/libxatomic.map
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) \
		-Wl,--version-script=user/lib/libxatomic.map $(call obj,$(LIB_SRC)) $(LDLIBS) -o $@

$(BUILD)/xatomic: $(call obj,$(CLI_SRC) $(CM_SRC) $(COMMON_SRC)) $(BUILD)/libxatomic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/xatomic-req: $(call obj,$(REQ_SRC) $(CM_SRC) $(COMMON_SRC)) $(BUILD)/libxatomic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# The same programs with ASan and UBSan, which the tests run.
$(BUILD)/asan/xatomic: $(call aobj,$(CLI_SRC) $(CM_SRC) $(COMMON_SRC) $(LIB_SRC))
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $^ $(LDLIBS) -o $@

$(BUILD)/asan/xatomic-req: $(call aobj,$(REQ_SRC) $(CM_SRC) $(COMMON_SRC) $(LIB_SRC))
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $^ $(LDLIBS) -o $@

include $(wildcard tests/*.mk tests/*/*.mk bench/*.mk scripts/*.mk examples/*.mk)

clean:
	$(Q)rm -rf $(BUILD)

format:
	$(Q)git ls-files '*.c' '*.h' | xargs $(CLANG_FORMAT) -i

deps:
	$(Q)scripts/install-deps.sh

# `deps` must end before anything that needs what it installs, also under -j.
demo check: deps
	$(Q)$(MAKE) --no-print-directory $@-run

help:
	@sed -n '3,/^$$/s/^# \?//p' $(firstword $(MAKEFILE_LIST))

.PHONY: all clean format deps demo check help
