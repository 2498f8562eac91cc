/* SPDX-License-Identifier: BSD-2-Clause */
#include "capability.h"

#include <sys/syscall.h>
#include <unistd.h>

bool xa_has_capability(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, data) ||
	       data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

bool xa_has_bpf_capability(int capability)
{
	return xa_has_capability(capability) || xa_has_capability(CAP_SYS_ADMIN);
}
