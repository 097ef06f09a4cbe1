/* The four-point stencil that stencil_halo.c and stencil_grid.c share: five
 * accesses a cell.
 */
#ifndef STENCIL_H
#define STENCIL_H

static void stencil_row(double *restrict out, const double *above, const double *here, const double *below, int columns)
{
	for (int i = 1; i < columns - 1; i++)
		out[i] = 0.25 * (above[i] + below[i] + here[i - 1] + here[i + 1]);
}

/* A value to begin with that no neighbour has. */
static double stencil_value(int rank, int row, int column)
{
	return rank + ((row * 7 + column * 13) % 101) / 101.0;
}

static double stencil_sum(const double *cells, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += cells[i];
	return sum;
}

#endif
