// SPDX-License-Identifier: GPL-2.0
/*
 * adios_check write|read STREAM: checks the engine SST of ADIOS2 with the data transport RDMA.
 * The writer writes ten steps of an array to STREAM. The reader compares each number of each
 * step, and prints how many bytes it has compared, and how many bytes were in wrong numbers.
 */
#include <adios2_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 262144
#define STEPS 10

static double array[COUNT];

static double number(int step, size_t i)
{
	return i * 3.5 + step;
}

static int write_steps(adios2_io *io, adios2_engine *engine)
{
	const size_t shape[1] = { COUNT }, start[1] = { 0 };
	adios2_step_status status;
	adios2_variable *var;

	var = adios2_define_variable(io, "x", adios2_type_double, 1, shape, start, shape,
				     adios2_constant_dims_true);
	for (int step = 0; step < STEPS; step++) {
		for (size_t i = 0; i < COUNT; i++)
			array[i] = number(step, i);
		if (adios2_begin_step(engine, adios2_step_mode_append, -1, &status) ||
		    adios2_put(engine, var, array, adios2_mode_sync) || adios2_end_step(engine))
			return 1;
	}
	return 0;
}

static int read_steps(adios2_io *io, adios2_engine *engine)
{
	size_t compared = 0, wrong = 0;
	adios2_step_status status;
	int step = 0;

	while (!adios2_begin_step(engine, adios2_step_mode_read, -1, &status) &&
	       status == adios2_step_status_ok) {
		adios2_variable *var = adios2_inquire_variable(io, "x");

		memset(array, 0xff, sizeof(array));
		if (!var || adios2_get(engine, var, array, adios2_mode_sync) ||
		    adios2_end_step(engine))
			return 1;
		for (size_t i = 0; i < COUNT; i++)
			wrong += array[i] != number(step, i);
		compared += sizeof(array);
		step++;
	}
	printf("%d steps, %zu octets compared, %zu wrong\n", step, compared,
	       wrong * sizeof(*array));
	return wrong || step != STEPS;
}

int main(int argc, char **argv)
{
	int reads = argc == 3 && !strcmp(argv[1], "read"), bad;
	adios2_engine *engine;
	adios2_adios *adios;
	adios2_io *io;

	if (argc != 3 || (!reads && strcmp(argv[1], "write"))) {
		fprintf(stderr, "usage: %s write|read STREAM\n", argv[0]);
		return 2;
	}
	adios = adios2_init_serial();
	io = adios2_declare_io(adios, "io");
	adios2_set_engine(io, "SST");
	adios2_set_parameter(io, "DataTransport", "RDMA");
	engine = adios2_open(io, argv[2], reads ? adios2_mode_read : adios2_mode_write);
	if (!engine)
		return 1;
	bad = reads ? read_steps(io, engine) : write_steps(io, engine);
	adios2_close(engine);
	adios2_finalize(adios);
	return bad;
}
