// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_faultnth slabs|pages MODULE N COMMAND [ARGUMENT...]: runs COMMAND, and lets the N-th
 * allocation of slabs or of pages fail. Allocations count from the start of COMMAND and in any
 * context, but only if MODULE, or a function that MODULE has called, makes the allocation. The
 * exit status is the status of COMMAND, plus 64 if no allocation failed and the status is less
 * than 64. The status 127 means that COMMAND could not be run; 128 means that a signal ended
 * COMMAND, or that arguments are missing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../faults/faults.h"

#define CALM	64

/*
 * Finds the range of the module's code. *@from: address of its first function; *@to: 4096 bytes
 * after the address of its last function, because the end of this function is not known
 */
static void find_code(const char *module, unsigned long *from, unsigned long *to)
{
	char line[300], name[64], of[64], type;
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long at;

	if (!f)
		iwt_die("/proc/kallsyms");
	*from = ~0ul;
	*to = 0;
	snprintf(name, sizeof(name), "[%s]", module);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %c %*s %63s", &at, &type, of) != 3 || strcmp(of, name) ||
		    !strchr("tT", type) || !at)
			continue;
		if (at < *from)
			*from = at;
		if (at > *to)
			*to = at;
	}
	fclose(f);
	errno = ENOENT;
	if (!*to)
		iwt_die(module);
	*to += 4096;
}

static int run(char **argv)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		iwt_die(argv[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int main(int argc, char **argv)
{
	unsigned long from, to;
	int rc;

	if (argc < 5)
		return 128;
	iwt_faults_open();
	find_code(argv[2], &from, &to);
	iwt_only(from, to);
	iwt_aim(strcmp(argv[1], "pages") ? IWT_SLABS : IWT_PAGES);
	iwt_arm(strtoul(argv[3], NULL, 10));
	rc = run(argv + 4);
	if (!iwt_disarm() && rc < CALM)
		rc += CALM;
	iwt_only(0, ~0ul);
	return rc;
}
