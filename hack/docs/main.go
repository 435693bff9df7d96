// Command docs writes the reference of every kind's fields, docs/reference/<kind>.md, from the generated definitions, and
// what each size of a control plane orders, docs/reference/sizes.md, from what the functions compose.
//
//	docs [<folder>]
//
// The folder is docs/reference unless another is named.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/apis"
)

func main() {
	to := filepath.Join("docs", "reference")
	if len(os.Args) > 1 {
		to = os.Args[1]
	}
	if err := generate(to); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// generate writes one page for each kind, and a list of them. A page is named by the kind's folder in apis/, or by the kind
// where a folder has several.
func generate(to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	var index bytes.Buffer
	fmt.Fprintf(&index, "%s\n# Reference\n\nEvery kind, and every field of it.\n\n| Kind | Made by | What it is |\n|---|---|---|\n", notice)
	for _, folder := range apis.Folders() {
		data, err := apis.Definition(folder)
		if err != nil {
			return err
		}
		kinds, err := parse(data)
		if err != nil {
			return fmt.Errorf("cannot read the definition of %s: %w", folder, err)
		}
		for _, k := range kinds {
			file := strings.ToLower(k.name) + ".md"
			if len(kinds) == 1 {
				file = folder + ".md"
			}
			fmt.Fprintf(&index, "| [%s](%s) | %s | %s. |\n", k.name, file, k.madeBy, firstSentence(k.schema.Description))
			if err := write(filepath.Join(to, file), page(k)); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(&index, "\n[What each size of a control plane orders](sizes.md).\n")
	table, err := sizes()
	if err != nil {
		return err
	}
	if err := write(filepath.Join(to, "sizes.md"), table); err != nil {
		return err
	}
	return write(filepath.Join(to, "README.md"), index.Bytes())
}

func write(file string, data []byte) error {
	return os.WriteFile(file, data, 0o644)
}
