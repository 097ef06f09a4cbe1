/* Of put, gcc takes out what comes behind the condition, and inlines that. */
int printf(const char *, ...);
int value[64];

static void put(int to, int n)
{
	if (n == 0)
		return;
	printf("put %d\n", n);
	for (int i = 0; i < n; i++)
		value[i] = i * to;
	printf("put %d\n", value[n - 1]);
	printf("put %d\n", to);
}

int main(int argc, char **argv)
{
	put(1, 4 * argc);
	put(1, argc - 1);
	put(1, 7 * argc);
	return 0;
}
