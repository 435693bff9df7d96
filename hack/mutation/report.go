package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// equivalents are mutants that change nothing that a test could notice, with the reason for each.
type equivalents map[string]string

// readEquivalents reads lines of a mutant's key, " # " and the reason.
func readEquivalents(path string) (equivalents, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := equivalents{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, " # ")
		if at < 0 || strings.TrimSpace(line[at+3:]) == "" {
			return nil, fmt.Errorf("%s: give the reason after \" # \" in: %s", path, line)
		}
		out[line[:at]] = line[at+3:]
	}
	return out, nil
}

// mark notes which mutants are equivalent. One that is of a package under mutation, and does not exist any more, is an error.
func (e equivalents) mark(packages []*pkg) error {
	var errs []error
	for _, p := range packages {
		found := map[string]bool{}
		for _, m := range p.mutants {
			found[m.key] = true
			m.equivalent = e[m.key]
		}
		for key := range e {
			file, _, _ := strings.Cut(key, " ")
			if dir := file[:max(0, strings.LastIndex(file, "/"))]; dir == p.name && !found[key] {
				errs = append(errs, fmt.Errorf("equivalent.txt names a mutant that is no more: %s", key))
			}
		}
	}
	return errors.Join(errs...)
}

// report writes the score of each package, and which mutants survived.
func report(w io.Writer, packages []*pkg) {
	fmt.Fprintln(w, "| Package | Mutants | Tried | Killed | Equivalent | Score |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	var all score
	for _, p := range packages {
		s := count(p)
		all = all.plus(s)
		if s.tried > 0 {
			fmt.Fprintf(w, "| `%s` | %s |\n", p.name, s)
		}
	}
	if len(packages) > 1 {
		fmt.Fprintf(w, "| all | %s |\n", all)
	}
	for _, p := range packages {
		for _, m := range p.mutants {
			if m.tried && m.detectedBy == "" {
				fmt.Fprintf(w, "\n%s", m)
				if !m.reached {
					fmt.Fprint(w, " (not reached)")
				}
				fmt.Fprintf(w, "\n    %s", m.key)
			}
		}
	}
	fmt.Fprintln(w)
}

type score struct{ mutants, tried, killed, equivalent int }

func (s score) plus(t score) score {
	return score{s.mutants + t.mutants, s.tried + t.tried, s.killed + t.killed, s.equivalent + t.equivalent}
}

func (s score) String() string {
	percent := 100.0
	if s.tried > 0 {
		percent = 100 * float64(s.killed) / float64(s.tried)
	}
	return fmt.Sprintf("%d | %d | %d | %d | %.0f %%", s.mutants, s.tried, s.killed, s.equivalent, percent)
}

func count(p *pkg) score {
	s := score{mutants: len(p.mutants)}
	for _, m := range p.mutants {
		if m.equivalent != "" {
			s.equivalent++
		}
		if m.tried {
			s.tried++
			if m.detectedBy != "" {
				s.killed++
			}
		}
	}
	return s
}
