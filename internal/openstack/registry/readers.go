package registry

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

//go:embed readers/*.json.gz
var readersData embed.FS

// Use describes how a program of a service uses an option of the service.
type Use string

// Uses that the analysis of a program's code distinguishes (hack/registry/README.md).
const (
	// Reads: a function that the program can reach reads the option.
	Reads Use = "r"
	// Ignores: no module that the program can import contains the option.
	Ignores Use = "-"
	// Unknown: neither is certain.
	Unknown Use = "?"
)

// Readers contains which program of a service reads which of its options, in one release. It is immutable.
type Readers struct {
	// Programs of the service, sorted: the command of each, or the module of a WSGI application.
	Programs []string

	uses map[string]map[string]string
}

// Use returns how a program uses an option, by its current name. It is Unknown for a program or an option that the analysis
// does not cover, such as options of a group with a name chosen by an administrator.
func (r *Readers) Use(program, group, option string) Use {
	at := slices.Index(r.Programs, program)
	uses := r.uses[normal(group)][option]
	if at < 0 || at >= len(uses) {
		return Unknown
	}
	return Use(uses[at : at+1])
}

var allReaders = sync.OnceValues(func() (map[string]map[string]*Readers, error) {
	out := map[string]map[string]*Readers{}
	files, _ := readersData.ReadDir("readers") // The folder is embedded in the binary.
	for _, file := range files {
		raw, err := readersData.ReadFile("readers/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("cannot read the readers of options: %w", err)
		}
		text, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("cannot unpack %s: %w", file.Name(), err)
		}
		var content struct {
			Release  string `json:"release"`
			Services map[string]struct {
				Programs []string                     `json:"programs"`
				Groups   map[string]map[string]string `json:"groups"`
			} `json:"services"`
		}
		if err := json.NewDecoder(text).Decode(&content); err != nil {
			return nil, fmt.Errorf("cannot decode %s: %w", file.Name(), err)
		}
		for service, s := range content.Services {
			if out[service] == nil {
				out[service] = map[string]*Readers{}
			}
			out[service][content.Release] = &Readers{Programs: s.Programs, uses: s.Groups}
		}
	}
	return out, nil
})

// ReadersOf returns the readers of a service's options in an OpenStack release, such as 2025.2. It returns an error for an
// unknown service or release.
func ReadersOf(service, release string) (*Readers, error) {
	all, err := allReaders()
	if err != nil {
		return nil, err
	}
	r := all[service][release]
	if r == nil {
		return nil, fmt.Errorf("the readers of %s's options are not known in release %q", service, release)
	}
	return r, nil
}
