package main

import (
	"slices"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/judge"
)

// TestSecretsHaveMakersAndReaders: of every Secret that is emitted the page says who makes it and who reads it.
func TestSecretsHaveMakersAndReaders(t *testing.T) {
	claim, err := everything()
	if err != nil {
		t.Fatal(err)
	}
	e, err := emit(claim)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Secrets) < 50 {
		t.Fatalf("only %d Secrets", len(e.Secrets))
	}
	sections := map[string]bool{}
	for _, w := range e.Workloads {
		sections[e.section(w.Of)] = true
	}
	for _, s := range e.Secrets {
		home := e.homeOf(s)
		if !sections[home] {
			t.Errorf("Secret %s is of section %q, which is not in the page", s.Name, home)
		}
		if e.maker(s) == "" || s.Maker.Kind == "" && !slices.ContainsFunc(s.Readers, func(r judge.Reader) bool { return r.Kind == "ExternalSecret" }) {
			t.Errorf("nobody makes Secret %s", s.Name)
		}
		if e.readers(s, home) == "" {
			t.Errorf("nobody reads Secret %s, which %v makes", s.Name, s.Maker.ID)
		}
	}
}

// TestProgram: a command is said without shells, options and folders.
func TestProgram(t *testing.T) {
	for name, tc := range map[string]struct {
		words []string
		want  string
	}{
		"Options": {[]string{"uwsgi", "--ini", "/etc/nova/uwsgi.ini"}, "`uwsgi uwsgi.ini`"},
		"Shell":   {[]string{"sh", "/etc/x/keys.sh", "x-worker"}, "`keys.sh x-worker`"},
		"Script":  {[]string{"sh", "-c", "x | y"}, "a script"},
		"Nothing": {nil, "of its image, or by its owner"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := program(tc.words); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
