// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_ulp: an upper layer that executes commands, one line at a time.
 *
 *	COMMAND [KEY=VALUE]...		on standard input
 *	ok [KEY=VALUE]...		on standard output, or
 *	err NUMBER TEXT			with an errno
 *
 * Commands choose the numbers of objects. A protection domain or a completion queue
 * is created when a command first uses its number (default: pd=0, cq=0). Data are in
 * hexadecimal, times in milliseconds. The comment at the function of a command lists
 * its arguments (optional arguments in brackets) and, after a colon, the keys of its
 * answer or its effect. The tables at the end of cm.c, direct.c, obj.c and post.c list
 * the commands.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patience.h"
#include "ulp.h"

#define MAX_ARGS 40

static char *args[MAX_ARGS];
static int n_args;
static char *answer;
static size_t answer_len, answer_size;

const char *ulp_str(const char *key)
{
	size_t len = strlen(key);
	int i;

	for (i = 0; i < n_args; i++)
		if (!strncmp(args[i], key, len) && args[i][len] == '=')
			return args[i] + len + 1;
	return NULL;
}

uint64_t ulp_num(const char *key, uint64_t other)
{
	const char *s = ulp_str(key);

	return s ? strtoull(s, NULL, 0) : other;
}

bool ulp_has(const char *key, char flag)
{
	const char *s = ulp_str(key);

	return s && strchr(s, flag);
}

/* Return: *@len bytes, which the caller frees; NULL if memory is missing */
uint8_t *ulp_hex(const char *key, size_t *len)
{
	const char *s = ulp_str(key);
	uint8_t *octets;
	size_t i;

	*len = s ? strlen(s) / 2 : 0;
	octets = calloc(1, *len + 1);
	for (i = 0; octets && i < *len; i++) {
		char two[3] = { s[2 * i], s[2 * i + 1] };

		octets[i] = strtoul(two, NULL, 16);
	}
	return octets;
}

static void reserve(size_t more)
{
	if (answer_len + more < answer_size)
		return;
	answer_size = (answer_len + more) * 2 + 1;
	answer = realloc(answer, answer_size);
	if (!answer)
		exit(1);
}

void ulp_put(const char *fmt, ...)
{
	va_list ap;
	int n;

	reserve(1000);
	va_start(ap, fmt);
	n = vsnprintf(answer + answer_len, 1000, fmt, ap);
	va_end(ap);
	answer_len += n;
}

void ulp_put_hex(const char *key, const void *octets, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = octets;
	size_t i;

	ulp_put(" %s=", key);
	reserve(2 * len + 1);
	for (i = 0; i < len; i++) {
		answer[answer_len++] = digits[p[i] >> 4];
		answer[answer_len++] = digits[p[i] & 15];
	}
	answer[answer_len] = 0;
}

int ulp_err(int err, const char *what)
{
	answer_len = 0;
	ulp_put("err %d %s: %s", err, what, strerror(err));
	return -1;
}

bool ulp_wait(int fd, uint64_t ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return patient_poll(&p, 1, ms) == 1;
}

static const struct ulp_command *find(const struct ulp_command *c, const char *name)
{
	for (; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static void execute(char *line)
{
	const struct ulp_command *c = NULL;
	char *word, *more = line;

	n_args = 0;
	answer_len = 0;
	while ((word = strsep(&more, " \n")))
		if (*word && n_args < MAX_ARGS)
			args[n_args++] = word;
	if (!n_args)
		return;
	c = find(ulp_cm_commands, args[0]);
	if (!c)
		c = find(ulp_direct_commands, args[0]);
	if (!c)
		c = find(ulp_obj_commands, args[0]);
	if (!c)
		c = find(ulp_post_commands, args[0]);
	ulp_put("ok");
	if (!c)
		ulp_err(ENOSYS, args[0]);
	else
		c->fn();
	puts(answer);
	fflush(stdout);
}

int main(void)
{
	size_t size = 0;
	char *line = NULL;

	while (getline(&line, &size, stdin) > 0)
		execute(line);
	return 0;
}
