package main

import (
	"context"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/symbols/collect"
	"github.com/mcchk/mcchk/tracer"
)

// backend is what the commands have done by other packages. Tests replace it.
type backend struct {
	compile     func(context.Context, tracer.CompileOptions) (int, error)
	run         func(context.Context, tracer.RunOptions) (tracer.Exit, error)
	advice      func(ctx context.Context, dir string, command []string, first bool) []string
	doctor      func(context.Context, tracer.DoctorOptions) ([]tracer.Finding, error)
	collect     func(ctx context.Context, dir string, o collect.Options) (places int, err error)
	analyzePart func(ctx context.Context, dir string, s analysis.Shard, o analysis.Options) (*analysis.Partial, error)
	analyze     func(ctx context.Context, dir string, o analysis.Options) (*analysis.Result, error)
	live        func(ctx context.Context, dir string, o analysis.LiveOptions) (*analysis.Result, error)
	tryFixes    func(ctx context.Context, res *analysis.Result, o analysis.Options) error
	draw        func(ctx context.Context, res *analysis.Result, o analysis.Options) (*analysis.Pictures, error)
}

func realBackend() backend {
	return backend{
		compile:     tracer.Compile,
		run:         tracer.Run,
		advice:      tracer.Advice,
		doctor:      tracer.Doctor,
		collect:     collect.Write,
		analyze:     analysis.Run,
		analyzePart: analysis.RunShard,
		live:        analysis.Live,
		tryFixes:    analysis.TryFixes,
		draw:        analysis.Draw,
	}
}
