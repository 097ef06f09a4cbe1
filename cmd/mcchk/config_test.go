package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mcchk/mcchk/config"
)

// TestSettingsAreFlags: a setting is a flag with the same default of the
// commands that use it.
func TestSettingsAreFlags(t *testing.T) {
	a, _, _ := testApp()
	root := newRootCommand(a)
	command := func(name string) *cobra.Command {
		for _, cmd := range root.Commands() {
			if cmd.Name() == name {
				return cmd
			}
		}
		require.Fail(t, "no command "+name)
		return nil
	}
	for _, s := range settings() {
		used := 0
		for _, name := range []string{"run", "doctor"} {
			cmd := command(name)
			require.True(t, configured(cmd), name)
			f := cmd.Flags().Lookup(s.Name)
			if f == nil {
				f = root.PersistentFlags().Lookup(s.Name)
			}
			if f == nil {
				continue
			}
			used++
			if !s.List() {
				require.Equal(t, s.Default, f.DefValue, s.Name)
			}
		}
		require.NotZero(t, used, "no command has the flag --%s", s.Name)
		if s.Default != "" {
			require.NoError(t, s.Check(s.Default), s.Name)
		}
	}
	require.False(t, configured(command("version")))
}

// TestSettingsTable keeps the table in docs/guide/settings.md equal to the settings:
// go test ./cmd/mcchk -run TestSettingsTable -update writes it anew.
func TestSettingsTable(t *testing.T) {
	const end = "<!-- end of the table -->"
	path := filepath.Join("..", "..", "docs", "guide", "settings.md")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	begin, rest, found := strings.Cut(string(data), "TestSettingsTable -update. -->\n")
	require.True(t, found)
	got, after, found := strings.Cut(rest, end)
	require.True(t, found)
	table := "\n| key, flag | environment | default | meaning |\n| --- | --- | --- | --- |\n"
	for _, s := range settings() {
		standard := ""
		if s.Default != "" {
			standard = "`" + s.Default + "`"
		}
		usage := s.Usage
		if len(s.Choices) > 0 && s.Kind != config.Formats { // those have a table of their own
			usage += ": `" + strings.Join(s.Choices, "`, `") + "`"
		}
		table += fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", s.Name, s.Env(), standard, usage)
	}
	if *update {
		page := begin + "TestSettingsTable -update. -->\n" + table + end + after
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
		return
	}
	require.Equal(t, table, got, "the table is not what the settings say: go test ./cmd/mcchk -run TestSettingsTable -update")
}

// TestConfigSchema keeps docs/config.schema.json equal to the settings:
// go test ./cmd/mcchk -run TestConfigSchema -update writes it anew.
func TestConfigSchema(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "config.schema.json")
	want := configSchema(t)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "docs/config.schema.json is not what the settings say: go test ./cmd/mcchk -run TestConfigSchema -update")

	schema, err := jsonschema.NewCompiler().Compile(path)
	require.NoError(t, err)
	tests := []struct {
		name, text string
		valid      bool
	}{
		{"all kinds", "fail-on: warning\nformat: [text, json=a.json]\njobs: 2\npredict: true\ntimeout: 1h30m\nbaseline: b.json\n", true},
		{"one format", "format: text\n", true},
		{"parts", "unseen:\n- part: libvend*\n  reason: no windows\n", true},
		{"part without a reason", "unseen:\n- part: libvend*\n", false},
		{"unknown key", "fail_on: warning\n", false},
		{"choice", "fail-on: eror\n", false},
		{"format", "format: [jsn]\n", false},
		{"number", "jobs: -1\n", false},
		{"duration", "timeout: soon\n", false},
	}
	for _, test := range tests {
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(test.text), &value))
		require.Equal(t, test.valid, schema.Validate(value) == nil, test.name)
	}
}

func configSchema(t *testing.T) string {
	properties := map[string]any{}
	for _, s := range settings() {
		p := map[string]any{"type": "string"}
		switch s.Kind {
		case config.Bool:
			p["type"] = "boolean"
		case config.Count:
			p["type"], p["minimum"] = "integer", 0
		case config.Duration:
			p["pattern"] = `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`
		case config.Parts:
			one := map[string]any{"type": "string", "pattern": "^[^=]+=.+$"}
			pair := map[string]any{
				"type": "object", "required": []string{"part", "reason"}, "additionalProperties": false,
				"properties": map[string]any{"part": map[string]any{"type": "string"}, "reason": map[string]any{"type": "string"}},
			}
			p = map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": map[string]any{"anyOf": []any{one, pair}}}}}
		case config.Patterns:
			one := map[string]any{"type": "string"}
			p = map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
		case config.Formats:
			names := ""
			for i, c := range s.Choices {
				if i > 0 {
					names += "|"
				}
				names += c
			}
			one := map[string]any{"type": "string", "pattern": "^(" + names + ")(=.+)?$"}
			p = map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
		default:
			if len(s.Choices) > 0 {
				p = map[string]any{"enum": s.Choices}
			}
		}
		p["description"] = s.Usage
		if s.Kind == config.Path {
			p["description"] = s.Usage + "; relative to the folder of " + config.FileName
		}
		properties[s.Name] = p
	}
	data, err := json.MarshalIndent(map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"$id":                  "https://github.com/mcchk/mcchk/docs/config.schema.json",
		"title":                "Settings of mcchk, " + config.FileName,
		"description":          "`mcchk config` prints the settings in force.",
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
	}, "", "  ")
	require.NoError(t, err)
	return string(data) + "\n"
}
