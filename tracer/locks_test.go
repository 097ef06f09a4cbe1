//go:build !quick

package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWaitsForConditions: a wait for a condition variable says behind it whether another thread has had
// the mutex meanwhile, which it comes after.
func TestWaitsForConditions(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <errno.h>
` + marks + `
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int condition;
static void *other(void *p)
{
	pthread_mutex_lock(&mutex);
	condition = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	return p;
}
int main(int argc, char **argv)
{
	pthread_t t;
	struct timespec now = {0, 0};
	start(&argc, &argv);
	pthread_mutex_lock(&mutex);
	pthread_create(&t, NULL, other, NULL);
	while (!condition)
		pthread_cond_wait(&changed, &mutex);
	if (pthread_cond_timedwait(&changed, &mutex, &now) != ETIMEDOUT)
		return 1;
	pthread_mutex_unlock(&mutex);
	pthread_join(t, NULL);
	return finish();
}
`
	b := newBench(t, platform{"openmpi", "gcc"}, map[string]string{"app.c": source})
	b.cc("-O2", "-pthread", "app.c", "-o", "app")
	var object int64
	var releases []int64
	for _, r := range readFile(t, rankFile(b.traced(2, "app"), 0)).events {
		switch {
		case r.access != nil:
		case r.Fn.Name == "mcchk_Release" && object == 0:
			object = r.arg["object"].Int // by the first wait
		case r.Fn.Name == "mcchk_Strand_waits" && r.arg["object"].Int == object:
			releases = append(releases, r.arg["releases"].Int)
		}
	}
	require.Equal(t, []int64{1, 0}, releases)
}
