//go:build linux

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/c5c3/crossplane-cobaltcore/test/node/podaccess"
)

// parseMounts returns the mounts of a mountinfo, without the file systems of the kernel.
func parseMounts(table string) []podaccess.Mount {
	var out []podaccess.Mount
	for line := range strings.Lines(table) {
		before, after, ok := strings.Cut(line, " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		const columns = 6
		if !ok || len(fields) < columns || len(types) == 0 {
			continue
		}
		m := podaccess.Mount{Root: fields[3], Path: fields[4], Type: types[0], ReadOnly: slices.Contains(strings.Split(fields[5], ","), "ro")}
		if !ofKernel(m) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b podaccess.Mount) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// ofKernel reports whether a mount is one that each container has: below /proc and /sys, and devices.
func ofKernel(m podaccess.Mount) bool {
	return m.Path == "/dev" || m.Path == "/dev/pts" || m.Path == "/dev/mqueue" || below("/proc", m.Path) || below("/sys", m.Path)
}

func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// standardDevices are the devices of every container.
var standardDevices = []string{"console", "full", "null", "ptmx", "random", "tty", "urandom", "zero"}

// walk adds everything in the file system: writable paths, devices, sockets, and files with credentials.
func walk(f *podaccess.Facts) {
	err := filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		isDir := d != nil && d.IsDir()
		switch excluded := below("/proc", path) || below("/sys", path) || path == "/probe"; {
		case isDir && (excluded || err != nil): // The user cannot read it.
			return fs.SkipDir
		case excluded || err != nil:
			return nil //nolint:nilerr // as above
		}
		special(f, path, d)
		return visit(f, path, d)
	})
	if err != nil {
		f.Errors = append(f.Errors, err.Error())
	}
}

// visit adds a folder or a file, if it is writable or has a credential.
func visit(f *podaccess.Facts, path string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		isMount := slices.ContainsFunc(f.Mounts, func(m podaccess.Mount) bool { return m.Path == path })
		if unix.Access(path, unix.W_OK) == nil && (isMount || !inside(f.Writable, path)) {
			f.Writable = append(f.Writable, path)
		}
		if strings.HasPrefix(d.Name(), "..") {
			return fs.SkipDir // The files of a volume are read by their links.
		}
	case d.Type().IsRegular():
		if unix.Access(path, unix.W_OK) == nil && !inside(f.Writable, path) {
			f.Writable = append(f.Writable, path)
		}
		credential(f, path)
	case d.Type()&fs.ModeSymlink != 0 && mounted(f.Mounts, path) != nil:
		credential(f, path)
	}
	return nil
}

func inside(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return below(dir, path) })
}

// special adds devices and sockets.
func special(f *podaccess.Facts, path string, d fs.DirEntry) {
	switch {
	case d.Type()&fs.ModeSocket != 0:
		f.Sockets = append(f.Sockets, path)
	case d.Type()&fs.ModeDevice != 0 && !below("/dev/pts", path) && !slices.Contains(standardDevices, strings.TrimPrefix(path, "/dev/")):
		f.Devices = append(f.Devices, path)
	}
}

// mounted returns the mount of a path, unless it is the root.
func mounted(mounts []podaccess.Mount, path string) *podaccess.Mount {
	var out *podaccess.Mount
	for i, m := range mounts {
		if m.Path != "/" && below(m.Path, path) && (out == nil || len(m.Path) > len(out.Path)) {
			out = &mounts[i]
		}
	}
	return out
}

// searched are the folders of an image in which files are read.
var searched = []string{"/etc", "/home", "/root", "/var/lib"}

// maxSize is the size of the largest file that is read.
const maxSize = 64 << 10

// credential adds a file with a credential: in a volume, or in the folders of an image that are configuration.
func credential(f *podaccess.Facts, path string) {
	mount := mounted(f.Mounts, path)
	if mount == nil && (!inside(searched, path) || strings.HasPrefix(filepath.Ext(path), ".py")) {
		return
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSize {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return // The user cannot read it.
	}
	form := formOf(string(data))
	if form == "" && mount != nil && mount.Type == "tmpfs" && len(data) > 0 && !strings.Contains(string(data), "-----BEGIN CERTIFICATE-----") {
		form = "in memory" // Secrets are in memory, and all of their files are secret unless they are certificates.
	}
	if form == "token" {
		f.API.Tokens = append(f.API.Tokens, podaccess.Token{Path: path})
	}
	if form != "" {
		f.Files = append(f.Files, podaccess.Credential{Name: path, Form: form})
	}
}

// forms are the forms of credentials in files, in the order in which they are tried.
var forms = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
	{"token", regexp.MustCompile(`^eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+\s*$`)},
	{"URL with password", urlWithPassword},
	{"password", regexp.MustCompile(`(?im)^\s*"?[\w.-]*(password|passwd|pass|secret|cookie)"?\s*[:=]\s*"?[^\s"'$%</\[{(,;:#]{6,}"?\s*$`)},
	{"key", regexp.MustCompile(`^[A-Za-z0-9+/_-]{32,}={0,2}\s*$`)},
}

var (
	urlWithPassword = regexp.MustCompile(`[a-z][a-z+]*://[^/\s:@"'<>]*:[^/\s@"'<>$%{]+@[\w\[]`)
	secretVariable  = regexp.MustCompile(`(?i)(pass|secret|token|credential|cookie|private|_key$|key_)`)
)

// formOf returns the form of the credential in the text of a file, or an empty string.
func formOf(text string) string {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return ""
	}
	for _, f := range forms {
		if f.pattern.MatchString(text) {
			return f.name
		}
	}
	return ""
}

// formOfVariable returns the form of the credential in a variable, or an empty string. Paths and numbers are no credentials.
func formOfVariable(name, value string) string {
	if form := formOf(value); form != "" && form != "key" && form != "password" {
		return form
	}
	short := len(value) < 6 || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "http") || strings.Trim(value, "0123456789.") == ""
	if !short && secretVariable.MatchString(name) {
		return "by name"
	}
	return ""
}
