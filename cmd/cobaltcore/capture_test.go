package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// plantSecret puts a secret into every value of an object that can contain one: environment variables, annotations, contents of ConfigMaps and
// Secrets, values that are named like secrets, and URLs in texts. It returns their number.
func plantSecret(v any, secret string) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			text, isText := value.(string)
			below, isMap := value.(map[string]any)
			switch {
			case name == "annotations" && isMap:
				below["kubectl.kubernetes.io/last-applied-configuration"] = `{"spec":{"x":"` + secret + `"}}`
				below["example.com/login"] = secret
				n += 2
			case (name == "data" || name == "stringData") && isMap:
				for key := range below {
					below[key] = secret
					n++
				}
			case isText && (name == "message" || name == "description"):
				v[name] = text + " postgres://u:" + secret + "@host/db Authorization: Bearer " + secret + "abcdef"
				n += 2
			case isMap && name == "spec":
				below["password"], below["adminToken"], below["privateKey"] = secret, secret, secret
				n += 3 + plantSecret(below, secret)
			default:
				n += plantSecret(value, secret)
			}
		}
	case []any:
		for _, e := range v {
			if env, ok := e.(map[string]any); ok && env["name"] != nil && env["value"] != nil {
				env["value"] = secret
				n++
			}
			n += plantSecret(e, secret)
		}
		for i, e := range v {
			if text, ok := e.(string); ok && strings.HasPrefix(text, "--") {
				v[i] = "--password=" + secret
				n++
			}
		}
	}
	return n
}

// unpacked returns the files of an archive.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for archive := tar.NewReader(zip); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(content)
	}
}
