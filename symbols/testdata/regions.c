/* Functions with regions and tasks of OpenMP, and one that is inlined into a region. */
int b[8];

static inline void fill(int i) { b[i] = i; }

void exchange(int n)
{
#pragma omp parallel
	{
		fill(n);
#pragma omp single
		{
#pragma omp task
			b[n + 1] = 3;
		}
	}
}

void other(int n)
{
#pragma omp parallel
	b[2] = n;
}
