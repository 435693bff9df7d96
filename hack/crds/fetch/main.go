// Command fetch fills the cache of third-party CRDs and prints its folder:
//
//	go run ./hack/crds/fetch
//
// With -slim it prints a CRD file in the form in which hack/crds/committed keeps it:
//
//	go run ./hack/crds/fetch -slim upstream.yaml
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/c5c3/crossplane-cobaltcore/hack/crds"
)

func main() {
	file := flag.String("slim", "", "print this `file`'s CRDs without descriptions instead")
	flag.Parse()
	out, err := run(*file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(out)
}

func run(file string) (string, error) {
	if file == "" {
		return crds.Fetch(context.Background())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	found, err := crds.Parse(data)
	if err != nil {
		return "", err
	}
	var docs [][]byte
	for _, crd := range found {
		doc, err := crds.Slim(crd)
		if err != nil {
			return "", err
		}
		docs = append(docs, bytes.TrimSpace(doc))
	}
	return string(bytes.Join(docs, []byte("\n---\n"))), nil
}
