# SPDX-License-Identifier: BSD-2-Clause
#
# make install: into $(DESTDIR)$(PREFIX). The directories below can be set one by one, for example
# LIBDIR=/usr/lib/x86_64-linux-gnu. Without DESTDIR the run-time linker is told of the library, which only root
# may do.

SBINDIR       ?= $(PREFIX)/sbin
LIBDIR        ?= $(PREFIX)/lib
INCLUDEDIR    ?= $(PREFIX)/include
MANDIR        ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
UNITDIR       ?= $(PREFIX)/lib/systemd/system
INSTALL       ?= install
LDCONFIG      ?= ldconfig

# The link that programs find at run time, and the one that the linker finds.
SOFILE := libxatomic.so.$(VERSION)

define PKG_CONFIG_FILE
prefix=$(PREFIX)
includedir=$(INCLUDEDIR)
libdir=$(LIBDIR)

Name: xatomic
Description: RDMA atomics without an RNIC: the words of memory regions, and the requester
Version: $(VERSION)
Requires.private: libbpf zlib
Libs: -L$${libdir} -lxatomic
Cflags: -I$${includedir}
endef
export PKG_CONFIG_FILE

install: all
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)$(INSTALL) -d $(addprefix $(DESTDIR),$(SBINDIR) $(LIBDIR)/pkgconfig $(LIBDIR)/xatomic \
		$(INCLUDEDIR)/xatomic $(MANDIR)/man8 $(COMPLETIONDIR))
	$(Q)$(INSTALL) -m 755 $(PROGRAMS) $(DESTDIR)$(SBINDIR)
	$(Q)$(INSTALL) -m 644 $(BUILD)/libxatomic.a $(DESTDIR)$(LIBDIR)
	$(Q)$(INSTALL) -m 755 $(BUILD)/$(SONAME) $(DESTDIR)$(LIBDIR)/$(SOFILE)
	$(Q)ln -sf $(SOFILE) $(DESTDIR)$(LIBDIR)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libxatomic.so
	$(Q)$(INSTALL) -m 644 $(BUILD)/pass.bpf.o $(DESTDIR)$(LIBDIR)/xatomic
	$(Q)$(INSTALL) -m 644 $(wildcard include/xatomic/*.h) $(DESTDIR)$(INCLUDEDIR)/xatomic
	$(Q)$(INSTALL) -d $(DESTDIR)$(UNITDIR)
	$(Q)sed 's|@SBINDIR@|$(SBINDIR)|' scripts/systemd/xatomic-serve@.service.in > \
		$(DESTDIR)$(UNITDIR)/xatomic-serve@.service
	$(Q)$(INSTALL) -m 644 $(wildcard man/*.8) $(DESTDIR)$(MANDIR)/man8
	$(Q)$(INSTALL) -m 644 scripts/completion/xatomic $(DESTDIR)$(COMPLETIONDIR)/xatomic
	$(Q)ln -sf xatomic $(DESTDIR)$(COMPLETIONDIR)/xatomic-req
	$(Q)printf '%s\n' "$$PKG_CONFIG_FILE" > $(DESTDIR)$(LIBDIR)/pkgconfig/xatomic.pc
	$(Q)[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || PATH=$$PATH:/sbin:/usr/sbin $(LDCONFIG)

.PHONY: install
