// Package input reads objects from files, folders and standard input, in the forms that kubectl apply -f accepts.
package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Standard is the path of standard input.
const Standard = "-"

// Document is an object of the input, in YAML or JSON. It can be invalid: nothing but its position has been read.
type Document struct {
	// File is the path of the file; empty for standard input.
	File string
	// Data starts with as many empty lines as precede the document in its file. Therefore a line of Data is a line of the file.
	Data []byte
}

// extensions are the extensions of files that are read from folders.
var extensions = []string{".yaml", ".yml", ".json"}

// Read returns the documents of files, of folders without their subfolders, and of standard input. A file can contain several documents,
// and a document can be a List, whose items are returned. Documents without content are omitted, unless a file has no others. An error
// means that a path cannot be read, or that a folder has no file with an object.
func Read(paths []string, standard io.Reader) ([]Document, error) {
	var out []Document
	for _, path := range paths {
		if path == Standard {
			data, err := io.ReadAll(standard)
			if err != nil {
				return nil, fmt.Errorf("cannot read standard input: %w", err)
			}
			out = append(out, documents("", data)...)
			continue
		}
		files, err := expand(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := os.ReadFile(file) //nolint:gosec // the user names the file
			if err != nil {
				return nil, err
			}
			out = append(out, documents(file, data)...)
		}
	}
	return out, nil
}

// expand returns the files of a folder, or the path if it is not a folder.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains(extensions, filepath.Ext(e.Name())) {
			out = append(out, filepath.Join(path, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the folder contains no file with the extension %s; subfolders are not read", path,
			strings.Join(extensions, ", "))
	}
	return out, nil
}

// documents returns the documents of a file.
func documents(file string, data []byte) []Document {
	var out []Document
	for _, doc := range split(data) {
		if !hasContent(doc) {
			continue
		}
		for _, item := range items(doc) {
			out = append(out, Document{file, item})
		}
	}
	if len(out) == 0 {
		return []Document{{file, data}}
	}
	return out
}

// hasContent reports whether a document contains more than comments. It does so for invalid YAML, whose error is reported later.
func hasContent(doc []byte) bool {
	var v any
	return yaml.Unmarshal(doc, &v) != nil || v != nil
}

// split splits a file before each line that starts a document (https://yaml.org/spec/1.2.2/#92-streams).
func split(data []byte) [][]byte {
	var out [][]byte
	var doc []byte
	lines := 0
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n")) {
			out = append(out, doc)
			doc = bytes.Repeat([]byte("\n"), lines)
			line = append([]byte("   "), rest...)
		}
		doc = append(doc, line...)
		lines++
	}
	return append(out, doc)
}

// items returns the items of a List, each on the line on which it starts, or the document itself.
func items(doc []byte) [][]byte {
	list := struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}{}
	if yaml.Unmarshal(doc, &list) != nil || !strings.HasSuffix(list.Kind, "List") || len(list.Items) == 0 {
		return [][]byte{doc}
	}
	lines := itemLines(doc)
	var out [][]byte
	for i, item := range list.Items {
		line := 1
		if i < len(lines) {
			line = lines[i]
		}
		out = append(out, append(bytes.Repeat([]byte("\n"), line-1), item...))
	}
	return out
}

// itemLines returns the line of each item of a List.
func itemLines(doc []byte) []int {
	list := struct {
		Items []yamlv3.Node `yaml:"items"`
	}{}
	if yamlv3.Unmarshal(doc, &list) != nil {
		return nil
	}
	var out []int
	for _, item := range list.Items {
		out = append(out, item.Line)
	}
	return out
}
