package barbican

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// run runs a script like a pod, with a folder instead of Barbican's, and with stub programs.
func run(t *testing.T, script string, files, programs map[string]string, args ...string) (folder, out string, err error) {
	t.Helper()
	folder = t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, text := range files {
		write(name, text, 0o600)
	}
	for name, text := range programs {
		write("bin/"+name, "#!/bin/sh\n"+text, 0o700)
	}
	file := write("script.sh", strings.ReplaceAll(script, "/etc/barbican", folder), 0o600)
	c := exec.Command("sh", append([]string{file}, args...)...)
	c.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
	requested, err := c.CombinedOutput()
	return folder, string(requested), err
}

// TestKeys verifies that the primary key is the first key, with which Barbican encrypts, and that the script fails without keys.
func TestKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		keys   map[string]string
		want   string
	}{
		"New":  {"The staged key decrypts data that other pods encrypt already.", map[string]string{"0": "c3RhZ2Vk", "1": "cHJpbWFyeQ=="}, "cHJpbWFyeQ== c3RhZ2Vk"},
		"Many": {"Ten is more than nine.", map[string]string{"0": "a", "9": "b", "10": "c", "11": "d"}, "d c b a"},
		"Else": {"The kubelet has additional files in the folder.", map[string]string{"0": "a", "1": "b", "..data": "x", "1.new": "y"}, "b a"},
		"None": {"Barbican would use its public default key.", nil, ""},
	} {
		files := map[string]string{"barbican.conf.d/README": ""}
		for index, key := range tc.keys {
			files["keys/"+index] = key
		}
		folder, requested, err := run(t, keysScript, files, nil, "echo", "started")
		if started := strings.Contains(requested, "started"); started != (tc.want != "") || started != (err == nil) {
			t.Errorf("%s: %s Output %q (%v)", name, tc.reason, requested, err)
			continue
		}
		if tc.want == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, "barbican.conf.d/keys.conf"))
		if err != nil {
			t.Fatal(err)
		}
		want := "[simple_crypto_plugin]\nkek = " + strings.ReplaceAll(tc.want, " ", "\nkek = ") + "\n"
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("%s: %s (-want +got)\n%s", name, tc.reason, diff)
		}
	}
}

// TestRewrapFailsIfKeyIsSkipped verifies that the Job fails if a key could not be encrypted again, although Barbican's tool succeeds, so
// that no key is removed.
func TestRewrapFailsIfKeyIsSkipped(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, tool string
		want         bool
	}{
		"All":   {"All keys are encrypted again.", "echo 'Retrieving all available projects'", true},
		"One":   {"One is not.", "echo \"Error occurred! SQLAlchemy automatically rolled-back the transaction\" >&2", false},
		"Ended": {"It was interrupted.", "exit 2", false},
	} {
		_, requested, err := run(t, rewrapScript, nil, map[string]string{"barbican-manage": "[ \"$*\" = 'simple_crypto rewrap_pkek' ] || exit 3\n" + tc.tool})
		if got := err == nil; got != tc.want {
			t.Errorf("%s: %s It succeeds: %v, want %v\n%s", name, tc.reason, got, tc.want, requested)
		}
	}
}
