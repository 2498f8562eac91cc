# SPDX-License-Identifier: BSD-2-Clause
#
# What round_veth.sh runs in the guest.

interop-build: $(addprefix $(BUILD)/tests/,test_prog test_differential test_race measure host_add) $(BUILD)/wiretap
